"""The grammar of typed words: authors, venues, years, and what else a query asks for."""
