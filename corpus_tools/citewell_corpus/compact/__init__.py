"""Writes compact segments: small libraries, without the text of abstracts."""
