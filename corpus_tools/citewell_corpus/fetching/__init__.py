"""Fetching many works of a source at once, to build a library from them."""
