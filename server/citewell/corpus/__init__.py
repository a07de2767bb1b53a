"""Reading a library of papers: immutable segments under a manifest that is swapped in whole."""

from citewell.corpus.contract import IndexBuilder, SegmentView
from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import default_libraries_dir, library_path
from citewell.corpus.library import Columns, Library

__all__ = [
    "Columns",
    "IndexBuilder",
    "Library",
    "LibraryError",
    "SegmentView",
    "default_libraries_dir",
    "library_path",
]
