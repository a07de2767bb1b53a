"""Scholarly sources: asking Crossref, OpenAlex and others, once the user has allowed them."""
