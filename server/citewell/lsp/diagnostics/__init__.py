"""Diagnostics: what is found, when, and how it is sent."""
