"""What typed words ask for: topic, authors, venues, years and the like, and where each part stands.

`retrieval.query_grammar` reads it; front ends show the parts, and an author takes one away by
deleting its characters or by putting a plus sign before them ("+nature" is a word).
"""

from __future__ import annotations

from typing import Literal

import msgspec

PartKind = Literal[
    "author", "venue", "year", "phrase", "excluded", "kind", "language", "recency", "citations",
    "cites", "cited_by", "like",
]  # fmt: skip
Recency = Literal["", "recent", "early"]


class TypedQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of typed words, by what they ask for."""

    topic: str = ""
    """The words that no other part takes."""
    phrases: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    """Words and phrases that a paper must not hold."""
    authors: tuple[str, ...] = ()
    """Names as they are typed, each of an author with papers in the library."""
    venues: tuple[str, ...] = ()
    """Short names, such as "NeurIPS"."""
    kinds: tuple[str, ...] = ()
    """Of "survey", "dataset" and "benchmark"."""
    year_from: int | None = None
    year_to: int | None = None
    min_citations: int | None = None
    recency: Recency = ""
    influential: bool = False
    cites: tuple[str, ...] = ()
    """Ids of works that a paper should cite."""
    cited_by: tuple[str, ...] = ()
    """Ids of works by which a paper should be cited."""
    like: tuple[str, ...] = ()
    """Ids of works that a paper should be cited together with."""


class QueryPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the words as they were typed: `text[start:end]`."""

    start: int
    end: int
    kind: PartKind
    value: str
    """How it was understood: "NeurIPS", "2015-2018", "-survey"."""


class Understood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was understood of the typed words; empty where they are words alone."""

    query: TypedQuery = TypedQuery()
    parts: tuple[QueryPart, ...] = ()
    """In the order of the text; none overlaps another."""
