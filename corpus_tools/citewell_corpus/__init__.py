"""Builds libraries of papers."""
