"""The author's own files: scanned with exact ranges, read and written losslessly.

Nothing is imported here: a thread that imports a module of this package must not wait for another
thread that imports the package as a whole.
"""
