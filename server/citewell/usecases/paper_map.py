"""The papers of a map: how they cite each other, which are alike, and which belong together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec

from citewell.engine.contract import Engine
from citewell.model import Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.query import Direction
from citewell.usecases.related import related_works

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
