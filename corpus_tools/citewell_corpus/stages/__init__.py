"""The stages of a build, in order: read, merge, citations, indexes, publish."""
