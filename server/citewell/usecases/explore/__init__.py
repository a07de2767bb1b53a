"""Literature search in passes: what is asked, the passes, their fusion, and what comes of them."""
