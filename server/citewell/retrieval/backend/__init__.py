"""A Qdrant back end that proposes candidates for a library, by words and dense vectors."""
