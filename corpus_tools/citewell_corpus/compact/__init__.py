"""Writes compact segments: a library in few bytes, without the text of abstracts."""
