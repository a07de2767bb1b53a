"""The papers beside one or several in the citation graph: what most of them share comes first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.engine.contract import Engine
from citewell.model import Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.query import Direction

DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by", "cocited")
LINKS = 400
"""Papers read in one direction from one paper, unless a later page needs more."""
DATED_LINKS = 4_000
"""Papers read so where only those of some years are wanted."""


class PaperRelation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One relation between a given paper and a listed one."""

    id: str
    """Of the given paper."""
    direction: Direction
    """`cites`: the given paper cites the listed one; `cited_by`: is cited by it; `cocited`: others
    cite both."""
    together: int = 1
    """For `cocited` how many papers cite both."""


class Neighbour(msgspec.Struct, frozen=True):
    """A listed paper."""

    work: Work
    links: tuple[PaperRelation, ...]


class Neighbours(msgspec.Struct, frozen=True, omit_defaults=True):
    """The papers beside the given ones."""

    papers: tuple[Neighbour, ...] = ()
    total: int = 0
    """Papers of the library that are known to be linked, of which `papers` are some."""
    elsewhere: int = 0
    """Linked papers that the library does not hold; one that several of the given papers lead to
    counts as often."""
    unknown: tuple[str, ...] = ()
    """Ids of given papers of which no citation is known, which is not the same as none."""
    problems: tuple[Problem, ...] = ()


def related_works(
    engine: Engine,
    works: Sequence[Work],
    k: int = 20,
    *,
    offset: int = 0,
    directions: Sequence[Direction] = DIRECTIONS,
    years: tuple[int | None, int | None] = (None, None),
    cancel: Cancel | None = None,
) -> Neighbours:
    """The `k` papers, from the one at `offset`, with links to most of the given ones, then with
    most links, then those that are cited most often with one of them; only those of the `years`
    from the first to the last, where these are given. Raises `Cancelled`."""
    given = {work.id for work in works}
    found: dict[str, Work] = {}
    links: dict[str, list[PaperRelation]] = {}
    best: dict[str, int] = {}
    known: set[str] = set()
    problems: list[Problem] = []
    total = elsewhere = 0
    first, last = years
    dated = first is not None or last is not None
    depth = DATED_LINKS if dated else max(LINKS, offset + k)
    for work in works:
        for direction in directions:
            if cancel is not None:
                cancel.check()
            beside = engine.related(work.id, direction, depth)
            problems += beside.problems
            if beside.total > len(beside.works) and not dated:
                total = max(total, beside.total)
            elsewhere += beside.elsewhere
            if beside.known:
                known.add(work.id)
            pairs = zip(beside.works, beside.together, strict=True)
            for rank, (other, together) in enumerate(pairs):
                if other.id in given:
                    continue
                if dated and not (first or 0) <= (other.year or -1) <= (last or 9999):
                    continue
                found[other.id] = other
                links.setdefault(other.id, []).append(PaperRelation(work.id, direction, together))
                best[other.id] = min(rank, best.get(other.id, rank))

    def place(name: str) -> tuple[int, int, int, int]:
        own = links[name]
        together = max(one.together for one in own)
        return -len({one.id for one in own}), -len(own), -together, best[name]

    order = sorted(found, key=place)
    page = order[offset : offset + k]
    return Neighbours(
        papers=tuple(Neighbour(found[name], tuple(links[name])) for name in page),
        total=max(total, len(order)),
        elsewhere=elsewhere,
        unknown=tuple(work.id for work in works if work.id not in known),
        problems=tuple(dict.fromkeys(problems)),
    )
