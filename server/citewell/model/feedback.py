"""Feedback on a list of papers: the accepted paper, and those passed over for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from citewell.model.query import Query

Through = Literal["completion", "action", "fill", "picker", "mcp"]
"""The action that accepted the paper."""
UNATTENDED: Through = "fill"
"""Acceptance without a look at the list: it says nothing about the other papers."""
Kind = Literal["accepted", "dismissed"]

SEEN = 5
"""Number of places of a list that an author is assumed to have seen."""


class Named(Protocol):
    """Anything with an id and a title, such as a record."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


class PaperName(msgspec.Struct, frozen=True):
    """The name of a paper in feedback."""

    id: str
    title: str


class Feedback(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One paper accepted from one list. Of the query, its vector is stored, never its words."""

    accepted: PaperName
    dismissed: tuple[PaperName, ...] = ()
    """The papers above it: see `passed_over`."""
    query: Query = Query()
    """The query of the list; empty if unknown."""
    project: str = ""
    """Folder of the paper being written."""
    through: Through = "completion"
    variant: str = ""
    """The configuration that ordered the list (`SearchResult.variant`), for comparing
    configurations."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted or dismissed paper, as stored."""

    number: int = 0
    """Increases with every event of a store."""
    time: float
    """Seconds since 1970, UTC."""
    kind: Kind
    work: str
    """Id in the library that offered it."""
    title: str
    key: int
    """`corpus.columns.title_key` of the title: the same paper in any library."""
    project: str = ""
    through: str = ""
    variant: str = ""
    encoder: str = ""
    """Fingerprint of the encoder of `asked`."""
    asked: bytes = b""
    """The query's vector as int8; empty if the query is unknown."""


def name_of(work: Named) -> PaperName:
    """The name of a work in feedback."""
    return PaperName(work.id, work.title)


def passed_over(shown: Sequence[Named | None], taken: str) -> tuple[PaperName, ...]:
    """The papers that an author saw and passed over for the one with the id `taken`.

    These are the papers above it among the first `SEEN` places, since authors read a list from the
    top ("skip above", Joachims 2002); nothing is known of those below. None in `shown` stands for
    an item that is no paper of the library. Empty when `taken` was not shown.
    """
    ids = [work.id if work is not None else None for work in shown]
    if taken not in ids:
        return ()
    above: Iterable[Named | None] = shown[: min(ids.index(taken), SEEN)]
    return tuple(name_of(work) for work in above if work is not None)
