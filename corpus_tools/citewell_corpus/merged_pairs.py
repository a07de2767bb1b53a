"""Which sources a merge joined: counts by pair of sources, with a few examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import msgspec

from citewell.model import Work

EXAMPLES = 3
"""Works that are named for each pair of sources."""


class MergedWork(msgspec.Struct, frozen=True):
    """A work that was merged."""

    title: str
    ids: tuple[str, ...]
    """Ids of the merged records, in the sources' own words."""


class MergedPair(msgspec.Struct, kw_only=True):
    """What was merged of two sources; of one, where both names are the same."""

    first: str
    second: str
    works: int = 0
    examples: list[MergedWork] = msgspec.field(default_factory=list)


def merged_pairs(
    groups: Iterable[Sequence[int]],
    first_new: int,
    source_of: Callable[[int], str],
    origins_of: Callable[[int], tuple[str, ...]],
    work_of: Callable[[int], Work],
) -> list[MergedPair]:
    """The pairs of sources among groups of two or more records, the most frequent first.

    Records below `first_new` are works of the library, whose sources `origins_of` gives. That a
    source was read again merges nothing.
    """
    pairs: dict[tuple[str, str], MergedPair] = {}
    for members in groups:
        new = [source_of(record) for record in members if record >= first_new]
        if not new:
            continue
        held = {name for record in members if record < first_new for name in origins_of(record)}
        if held and held >= set(new):
            continue
        names = sorted({*new, *held})
        found = list(combinations(names, 2)) or [(names[0], names[0])]
        for pair in found:
            one = pairs.setdefault(pair, MergedPair(first=pair[0], second=pair[1]))
            one.works += 1
            if len(one.examples) < EXAMPLES:
                works = [work_of(record) for record in members]
                one.examples.append(MergedWork(works[0].title, tuple(work.id for work in works)))
    return sorted(pairs.values(), key=lambda pair: (-pair.works, pair.first, pair.second))
