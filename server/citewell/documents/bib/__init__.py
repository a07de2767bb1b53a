"""BibTeX files: parsed, matched and edited losslessly."""
