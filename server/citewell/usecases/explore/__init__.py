"""Literature search in passes: the request, the passes, their fusion, and the results."""
