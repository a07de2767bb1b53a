"""One suite for every encoder and one for every retriever: what the contracts promise."""
