"""Reading of a library of papers: immutable segments under a manifest that is replaced atomically.

Nothing is imported here: a thread that imports a module of this package must not wait for another
thread that imports the package as a whole.
"""
