"""Markdown in the dialects of Pandoc, Quarto and R Markdown."""
