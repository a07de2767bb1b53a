"""Definitions, references, renames, symbols and links."""
