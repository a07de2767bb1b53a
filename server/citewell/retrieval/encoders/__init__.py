"""Encoders, which turn texts into vectors. A new one is a module here and a line in `registry`.

Nothing is imported here: a thread that imports a module of this package must not wait for another
thread that imports the package as a whole.
"""
