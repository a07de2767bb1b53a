"""BibTeX files: read, matched and edited without loss."""
