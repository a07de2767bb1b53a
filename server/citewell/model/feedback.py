"""What an author made of a list of papers: the one that was taken, and those passed over for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from citewell.model.query import Query

Through = Literal["completion", "action", "fill", "picker", "mcp"]
"""By what the paper was taken."""
UNATTENDED: Through = "fill"
"""Who cited by this looked at no list: no choice to learn from."""
Kind = Literal["accepted", "dismissed"]

SEEN = 5
"""Places of a list that an author is taken to have looked at."""


class Named(Protocol):
    """A record, or whatever else shows a paper."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


class PaperName(msgspec.Struct, frozen=True):
    """A paper as feedback names it."""

    id: str
    title: str


class Feedback(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One paper taken from one list. What is kept of the query is its vector, never its words."""

    accepted: PaperName
    dismissed: tuple[PaperName, ...] = ()
    """Those that stood above it: see `passed_over`."""
    query: Query = Query()
    """What the list answered; empty where that is not known."""
    project: str = ""
    """Folder of the paper being written."""
    through: Through = "completion"
    variant: str = ""
    """What made the order of the list (`SearchResult.variant`), for comparing such makers."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One paper accepted or dismissed, as it is kept."""

    number: int = 0
    """Rises with every event of a store."""
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
    """The query's vector as int8; empty where the query is not known."""


def name_of(work: Named) -> PaperName:
    """How feedback names a work."""
    return PaperName(work.id, work.title)


def passed_over(shown: Sequence[Named | None], taken: str) -> tuple[PaperName, ...]:
    """The papers that an author saw and passed over for the one with the id `taken`.

    Those above it among the first `SEEN` places, for an author reads a list from its top (the
    "skip above" of Joachims 2002): of what stands below the taken one nothing is known. None stands
    in `shown` for what is no paper of the library. Empty when `taken` was not shown.
    """
    ids = [work.id if work is not None else None for work in shown]
    if taken not in ids:
        return ()
    above: Iterable[Named | None] = shown[: min(ids.index(taken), SEEN)]
    return tuple(name_of(work) for work in above if work is not None)
