"""Errors for the user: values with a code, and the one base class of exceptions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error or notice for the user. Never raised: returned beside the result."""

    code: str
    """Stable, kebab-case, documented: "library-missing", "bib-syntax", "retriever-late"."""
    message: str
    """One sentence that states the error and names its subject."""
    hint: str = ""
    """One sentence on how to solve it."""
    path: str = ""
    line: int | None = None
    """1-based line in `path`."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: " if self.path and self.line else ""
        place = place or (f"{self.path}: " if self.path else "")
        return f"{place}{self.message}{' ' + self.hint if self.hint else ''}"


class CitewellError(Exception):
    """A failure that ends the operation, with the problem to show."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


_MEANS = {
    "limit": "k", "count": "k", "n": "k", "top_k": "k", "max_results": "k", "num_results": "k",
    "q": "query", "words": "query", "authors": "author", "name": "author", "journal": "venue",
    "conference": "venue", "since": "year_from", "from_year": "year_from", "until": "year_to",
    "to_year": "year_to", "paper_id": "id", "doi": "id", "file": "path", "bib_path": "bib",
    "citation_key": "key", "page": "cursor", "bibtex": "text", "passage": "text",
    "sentence": "text", "context": "text", "references": "text", "question": "query",
    "topic": "query", "filename": "path",
}  # fmt: skip
"""Names of the same things in other programs."""


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that this one is a synonym of, or is closest to; "" if there is none."""
    import difflib  # needed for errors alone

    names = list(known)
    if (other := _MEANS.get(name.lower(), "")) in names:
        return other
    close = difflib.get_close_matches(name.lower()[:80], names, n=1, cutoff=0.6)
    return close[0] if close else ""
