"""Segments in few bytes: the same facts as in an ordinary segment, for libraries that are shipped.

A compact segment is read as it lies. What a query reads at random places (titles, authors,
postings, vectors) is mapped from the files and shared between processes; small tables are
decompressed when they are first needed.
"""
