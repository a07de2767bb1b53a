"""The papers beside one or several in the citation graph: what most of them share comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec

from citewell.engine.contract import Engine
from citewell.model import Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.query import Direction

DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by", "cocited")
LINKS = 400
"""Papers read in one direction from one paper, unless a later page needs more."""


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
    cancel: Cancel | None = None,
) -> Neighbours:
    """The `k` papers, from the one at `offset`, with links to most of the given ones, then with
    most links, then those that are cited most often with one of them. Raises `Cancelled`."""
    given = {work.id for work in works}
    found: dict[str, Work] = {}
    links: dict[str, list[PaperRelation]] = {}
    best: dict[str, int] = {}
    known: set[str] = set()
    problems: list[Problem] = []
    total = elsewhere = 0
    depth = max(LINKS, offset + k)
    for work in works:
        for direction in directions:
            if cancel is not None:
                cancel.check()
            beside = engine.related(work.id, direction, depth)
            problems += beside.problems
            if beside.total > len(beside.works):
                total = max(total, beside.total)
            elsewhere += beside.elsewhere
            if beside.known:
                known.add(work.id)
            pairs = zip(beside.works, beside.together, strict=True)
            for rank, (other, together) in enumerate(pairs):
                if other.id in given:
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


# The papers of a map: how they cite each other, which are alike, and which belong together.

MAX_PAPERS = 150
"""More cannot be read on a map."""
MOST_GROUPS = 8
MOST_ALIKE = 3
"""Links of likeness that start from one paper."""
LEAST_LIKENESS = 0.1
_NEIGHBOURS = 200
"""Papers read in one direction from one paper."""
_DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by")


class MapLink(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line between two papers of a map."""

    first: str
    """Id of the citing paper; of two that are alike, of the earlier in the list."""
    second: str
    likeness: float = 0.0
    """For papers that are alike, the share of their citations that they have in common: over 0, at
    most 1. 0: the first cites the second."""


class PaperMap(msgspec.Struct, frozen=True, omit_defaults=True):
    """The papers, the given ones first, with their groups and links."""

    works: tuple[Work, ...] = ()
    groups: tuple[int, ...] = ()
    """For each paper the number of its group by the likeness of its vector, from 0; -1: none."""
    links: tuple[MapLink, ...] = ()
    problems: tuple[Problem, ...] = ()


def paper_map(
    engine: Engine, works: Sequence[Work], k: int, *, cancel: Cancel | None = None
) -> PaperMap:
    """The map of the works and of papers linked to them, until it has `k` papers. Raises
    `Cancelled`."""
    given = list({work.id: work for work in works}.values())[:MAX_PAPERS]
    problems: tuple[Problem, ...] = ()
    if len(given) < k:
        beside = related_works(engine, given, k - len(given), cancel=cancel)
        given += [one.work for one in beside.papers]
        problems = beside.problems
    ids = [work.id for work in given]
    places = {name: place for place, name in enumerate(ids)}
    cites: set[tuple[int, int]] = set()
    around: list[set[str]] = []
    for place, name in enumerate(ids):
        own: set[str] = set()
        for direction in _DIRECTIONS:
            if cancel is not None:
                cancel.check()
            for other in engine.related(name, direction, _NEIGHBOURS).works:
                own.add(f"{direction} {other.id}")
                there = places.get(other.id)
                if there is not None:
                    cites.add((place, there) if direction == "cites" else (there, place))
        around.append(own)
    links = [MapLink(ids[first], ids[second]) for first, second in sorted(cites)]
    links += [MapLink(ids[a], ids[b], share) for a, b, share in _alike(around)]
    most = max(1, min(MOST_GROUPS, round(math.sqrt(len(ids) / 2))))
    groups = engine.cluster(ids, most) if ids else []
    return PaperMap(tuple(given), tuple(groups), tuple(links), problems)


def _alike(around: Sequence[set[str]]) -> list[tuple[int, int, float]]:
    """The pairs with the most citations in common, a few for each paper, by their places."""
    pairs: list[tuple[float, int, int]] = []
    for a, b in combinations(range(len(around)), 2):
        shared = len(around[a] & around[b])
        if shared:
            share = shared / math.sqrt(len(around[a]) * len(around[b]))
            if share >= LEAST_LIKENESS:
                pairs.append((share, a, b))
    count = [0] * len(around)
    kept: list[tuple[int, int, float]] = []
    for share, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if min(count[a], count[b]) < MOST_ALIKE:
            count[a] += 1
            count[b] += 1
            kept.append((a, b, round(share, 3)))
    return kept
