"""Overviews as plain data: of a list of papers (themes, and sentences that cite papers by id), and
of the coverage of a library."""

from __future__ import annotations

import msgspec

from citewell.model.llm import Usage
from citewell.model.problem import Problem


class CitedSentence(msgspec.Struct, frozen=True):
    """A sentence and the papers of the list that support it."""

    text: str
    ids: tuple[str, ...]


class Theme(msgspec.Struct, frozen=True, omit_defaults=True):
    """A group of similar papers of a list."""

    words: tuple[str, ...]
    """Words that set their titles and abstracts apart, most distinctive first."""
    ids: tuple[str, ...]
    """In the order of the list."""
    sentences: tuple[CitedSentence, ...] = ()
    """Whole sentences of their abstracts."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A language model's summary of a list, as far as the abstracts support it."""

    sentences: tuple[CitedSentence, ...] = ()
    dropped: int = 0
    """Number of sentences left out: without a paper of the list, or not supported by it."""
    of: int = 0
    """Number of papers shown to the model, from the first."""
    program: str = ""
    """Name and version of the program: "summarize@builtin"."""
    model: str = ""
    problem: Problem | None = None
    """Why there is no summary."""
    usage: Usage = Usage()


class Overview(msgspec.Struct, frozen=True, omit_defaults=True):
    """The topics of the first papers of a list. It names no paper outside the list."""

    themes: tuple[Theme, ...] = ()
    """The largest first."""
    summary: Summary | None = None
    """The language model's; None if no model is configured."""


class VenueCount(msgspec.Struct, frozen=True, kw_only=True):
    """The works of one venue."""

    venue: str
    works: int
    first: int
    last: int
    missing: tuple[int, ...] = ()
    """Years between the first and the last with no works, or far fewer than in the years beside."""


class LibraryCoverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The coverage of one of the searched libraries."""

    name: str
    works: int
    created: str = ""
    """Date of the last change, as in 2026-11-28; empty for a library shipped with Citewell, which
    has the age of its last works."""
    first: int = 0
    """Year of the first work; 0 if unknown."""
    last: int = 0
    """Year of the last work; 0 if unknown."""
    years: dict[str, int] = {}
    """Works of each year."""
    venues: tuple[VenueCount, ...] = ()
    """The largest venues of a library shipped with Citewell; empty for any other library."""
