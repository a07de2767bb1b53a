"""What can be done in a .bib file."""
