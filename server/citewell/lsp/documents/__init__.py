"""Open documents, their files and projects, as they stand."""
