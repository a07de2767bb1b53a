"""Compact segments, for shipped libraries: the content of an ordinary segment in fewer bytes.

A compact segment is read as it lies. What a query reads at random places (titles, authors,
postings, vectors) is mapped from the files and shared between processes; small tables are
decompressed when they are first needed.
"""
