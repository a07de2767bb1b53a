"""Features of .bib files."""
