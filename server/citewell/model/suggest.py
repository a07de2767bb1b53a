"""Suggestions for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MEANS = {
    "limit": "k", "count": "k", "n": "k", "top_k": "k", "max_results": "k", "num_results": "k",
    "q": "query", "words": "query", "authors": "author", "name": "author", "journal": "venue",
    "conference": "venue", "since": "year_from", "from_year": "year_from", "until": "year_to",
    "to_year": "year_to", "paper_id": "id", "doi": "id", "file": "path", "bib_path": "bib",
    "citation_key": "key", "page": "cursor",
}  # fmt: skip
"""Names that other programs use for the same things."""


def meant(name: str, known: Iterable[str]) -> str:
    """The name among those known that this one stands for or nearly is; empty where none is."""
    names = list(known)
    if (other := _MEANS.get(name.lower(), "")) in names:
        return other
    close = difflib.get_close_matches(name.lower()[:80], names, n=1, cutoff=0.6)
    return close[0] if close else ""
