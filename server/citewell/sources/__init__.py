"""Clients of scholarly sources (Crossref, OpenAlex and others) that the user has allowed."""
