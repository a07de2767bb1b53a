"""Markdown as Pandoc, Quarto and R Markdown write it."""
