"""A Qdrant back end that finds candidates for a library: its words and its dense vectors."""
