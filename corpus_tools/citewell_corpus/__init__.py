"""Builds libraries of papers, and trains the models that Citewell ships."""
