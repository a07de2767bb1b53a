"""Citewell: finds, inserts and verifies citations of real papers while an author writes."""

__all__ = ["__version__"]

__version__ = "0.1.0"
