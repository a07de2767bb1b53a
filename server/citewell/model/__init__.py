"""The data that all parts of Citewell share; imports nothing else of Citewell.

A name below is imported at its first use: a thread that imports a module of this package must not
wait for another thread that imports the package as a whole.
"""

TYPE_CHECKING = False  # like `typing`, which takes longer to import than all of this

if TYPE_CHECKING:
    from citewell.model.problem import CitewellError, Problem
    from citewell.model.query import (
        CitingPaper,
        Evidence,
        Hit,
        Query,
        Question,
        Reference,
        SearchResult,
        Target,
    )
    from citewell.model.work import Author, Provenance, Work

__all__ = [
    "Author",
    "CitewellError",
    "CitingPaper",
    "Evidence",
    "Hit",
    "Problem",
    "Provenance",
    "Query",
    "Question",
    "Reference",
    "SearchResult",
    "Target",
    "Work",
]

_MODULES = {
    "Author": "work",
    "CitewellError": "problem",
    "CitingPaper": "query",
    "Evidence": "query",
    "Hit": "query",
    "Problem": "problem",
    "Provenance": "work",
    "Query": "query",
    "Question": "query",
    "Reference": "query",
    "SearchResult": "query",
    "Target": "query",
    "Work": "work",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
