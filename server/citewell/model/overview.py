"""Overviews as plain data: of a list of papers (themes, and sentences that cite papers by id), and
of what a library covers."""

from __future__ import annotations

import msgspec

from citewell.model.llm import Usage
from citewell.model.problem import Problem


class CitedSentence(msgspec.Struct, frozen=True):
    """A sentence and the papers of the list that it rests on."""

    text: str
    ids: tuple[str, ...]


class Theme(msgspec.Struct, frozen=True, omit_defaults=True):
    """Papers of a list that are alike."""

    words: tuple[str, ...]
    """What distinguishes their titles and abstracts from the others', most telling first."""
    ids: tuple[str, ...]
    """In the order of the list."""
    sentences: tuple[CitedSentence, ...] = ()
    """Whole sentences of their abstracts."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a language model wrote of a list, as far as the abstracts support it."""

    sentences: tuple[CitedSentence, ...] = ()
    dropped: int = 0
    """Sentences that were left out: without a paper of the list, or not supported by it."""
    of: int = 0
    """How many papers the model was shown: the first ones."""
    program: str = ""
    """Name and version of the program that asked: "summarize@builtin"."""
    model: str = ""
    problem: Problem | None = None
    """Why there is no text."""
    usage: Usage = Usage()


class Overview(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the first papers of a list are about. It names no paper that is not in the list."""

    themes: tuple[Theme, ...] = ()
    """The largest first."""
    summary: Summary | None = None
    """By the language model; None where none is named."""


class VenueCount(msgspec.Struct, frozen=True, kw_only=True):
    """The works of one venue."""

    venue: str
    works: int
    first: int
    last: int
    missing: tuple[int, ...] = ()
    """Years between the first and the last of which it holds nothing, or far less than of the
    years beside."""


class LibraryCoverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one of the libraries that are searched covers."""

    name: str
    works: int
    first: int = 0
    """Year of the first work; 0 if unknown."""
    last: int = 0
    """Year of the last work; 0 if unknown."""
    years: dict[str, int] = {}
    """Works of each year."""
    venues: tuple[VenueCount, ...] = ()
    """The largest venues of a library that is shipped; none of any other library."""
