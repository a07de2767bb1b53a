"""The data that every part of Citewell speaks; imports nothing else of Citewell."""

from citewell.model.hit import Evidence, Hit, SearchResult
from citewell.model.problem import CitewellError, Problem
from citewell.model.query import CitingPaper, Query, Question, Reference, Target
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
