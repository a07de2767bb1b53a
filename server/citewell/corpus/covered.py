"""Which works of one library another one holds too: by title, and first author or year.

It is computed whenever a library is opened on another one. The titles of both are sorted together
once: looking up a few hundred thousand keys one by one takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import LibraryColumns
from citewell.corpus.contract import SegmentView
from citewell.model import CitewellError


class Covered(msgspec.Struct, frozen=True):
    """Which rows of a segment are also in the segments above."""

    rows: NDArray[np.bool_]
    """Mask of the rows whose work is there, shape (count,)."""
    holder: NDArray[np.int32]
    """The row above that holds the work of each row, shape (count,); -1 where none does, and where
    several works there have the title."""


def covered_rows(above: Sequence[SegmentView], segment: SegmentView) -> Covered:
    """None of the rows where a segment was built without columns."""
    out = np.zeros(segment.count, np.bool_)
    holder = np.full(segment.count, -1, np.int32)
    own = SegmentView(path=segment.path, base=0, count=segment.count)
    try:
        upper, lower = LibraryColumns(above), LibraryColumns([own])
    except CitewellError:
        return Covered(out, holder)
    keys = upper.keys()
    if any(view.dead is not None for view in above):
        keys = keys.copy()  # those of one segment are mapped from its file
    for view in above:
        if view.dead is not None:
            keys[view.base : view.base + view.count][view.dead] = 0
    rows, title, held, own_title = _shared_titles(lower.keys(), keys)
    if not len(rows):
        return Covered(out, holder)
    holder_of = np.full(len(np.bincount(own_title)), -1, np.int32)
    holder_of[own_title] = held
    holder_of[np.bincount(own_title) > 1] = -1
    holders = holder_of[title]
    year, own_year = lower.years()[rows], upper.years()[held]
    # A title that each has once, of about the same year, is one work; of other titles the authors
    # decide, which take longer to read.
    year_of = np.zeros(len(np.bincount(own_title)), np.int16)
    year_of[own_title] = own_year
    once = (np.bincount(title) == 1) & (np.bincount(own_title) == 1)
    same = once[title] & (np.abs(year - year_of[title]) <= 1) & (year != 0)
    left = np.flatnonzero(~same)
    if len(left):
        open_titles = np.zeros(len(once), np.bool_)
        open_titles[title[left]] = True
        unclear = np.flatnonzero(open_titles[own_title])
        title, year = title[left], year[left]
        own_title, own_year = own_title[unclear], own_year[unclear]
        author, own_author = lower.first_authors(rows[left]), upper.first_authors(held[unclear])
        close = np.zeros(len(left), np.bool_)
        for step in (-1, 0, 1):
            close |= np.isin(_pairs(title, year), _pairs(own_title, own_year + np.int16(step)))
        close &= year != 0
        named = own_author != 0
        own_pairs = _pairs(own_title[named], own_author[named])
        by_author = (author != 0) & np.isin(_pairs(title, author), own_pairs)
        nameless = np.isin(title, own_title[~named])
        same[left] = by_author | (close & ((author == 0) | nameless))
    out[rows[same]] = True
    holder[rows[same]] = holders[same]
    return Covered(out, holder)


def _shared_titles(
    keys: NDArray[np.uint64], others: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Places of the keys that both have, 0 left out, each with the number of its title: those in
    `keys`, then those in `others`. The titles are numbered from 0 in the order of their keys."""
    every = np.concatenate([keys, others])
    order = _sorted_places(every)
    key, mine = every[order], order < len(keys)
    starts = np.flatnonzero(np.diff(key, prepend=~key[:1]))
    any_mine, all_mine = np.logical_or.reduceat(mine, starts), np.logical_and.reduceat(mine, starts)
    has = any_mine & ~all_mine & (key[starts] != 0)
    sizes = np.diff(starts, append=len(key))
    shared = np.repeat(has, sizes)
    order, mine = order[shared], mine[shared]
    title = np.repeat(np.arange(np.count_nonzero(has)), sizes[has])
    return order[mine], title[mine], order[~mine] - len(keys), title[~mine]


def _sorted_places(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Places of the keys in an order in which equal ones follow each other.

    The leading bits of a key and its place are sorted as one number, in half of the time that
    `argsort` takes, which decides where two keys differ in the other bits alone.
    """
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    numbers = keys & ~low | np.arange(len(keys), dtype=np.uint64)
    numbers.sort()
    order = (numbers & low).astype(np.int64)
    differs = keys[order[1:]] ^ keys[order[:-1]]
    return np.argsort(keys) if ((differs != 0) & (differs <= low)).any() else order


def _pairs(
    title: NDArray[np.int64], fact: NDArray[np.uint32] | NDArray[np.int16]
) -> NDArray[np.int64]:
    """One number for each title and a fact of its work."""
    return (title << 33) + fact
