"""Bulk download of works from a source, to build a library from them."""
