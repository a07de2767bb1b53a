"""The grammar of typed words: authors, venues, years, and other conditions of a query."""
