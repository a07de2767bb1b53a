"""The review of a whole paper: what is wrong with its citations, and what may be missing."""
