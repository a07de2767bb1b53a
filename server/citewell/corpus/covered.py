"""Which works of one library another one holds too: by title, and first author or year."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import LibraryColumns
from citewell.corpus.contract import SegmentView
from citewell.model import CitewellError

_MIX = np.uint64(0x9E3779B97F4A7C15)


def covered_rows(above: Sequence[SegmentView], segment: SegmentView) -> NDArray[np.bool_]:
    """Mask of a segment's rows whose work is also in one of the segments above, shape (count,).

    All False where a segment was built without columns.
    """
    out = np.zeros(segment.count, np.bool_)
    own = SegmentView(path=segment.path, base=0, count=segment.count)
    try:
        upper, lower = LibraryColumns(above), LibraryColumns([own])
    except CitewellError:
        return out
    keys = upper.keys()
    for view in above:
        if view.dead is not None:
            keys[view.base : view.base + view.count][view.dead] = 0
    theirs = lower.keys()
    rows = np.flatnonzero(_among(theirs, keys[keys != 0]))
    held = np.flatnonzero(_among(keys, theirs[rows]))
    if not len(rows):
        return out
    key, year, own_key, own_year = (
        theirs[rows],
        lower.years()[rows],
        keys[held],
        upper.years()[held],
    )
    # A title that each has once, of about the same year, is one work; of other titles the authors
    # decide, which take longer to read.
    close = np.zeros(len(rows), np.bool_)
    for step in (-1, 0, 1):
        close |= _among(_pairs(key, year), _pairs(own_key, own_year + np.int16(step)))
    close &= year != 0
    same = close & _once(key) & ~_among(key, own_key[~_once(own_key)])
    left = np.flatnonzero(~same)
    if len(left):
        unclear = np.flatnonzero(_among(own_key, key[left]))
        author, own_author = lower.first_authors(rows[left]), upper.first_authors(held[unclear])
        named = own_author != 0
        own_pairs = _pairs(own_key[unclear][named], own_author[named])
        by_author = (author != 0) & _among(_pairs(key[left], author), own_pairs)
        nameless = _among(key[left], own_key[unclear][~named])
        same[left] = by_author | (close[left] & ((author == 0) | nameless))
    out[rows[same]] = True
    return out


def _pairs(
    key: NDArray[np.uint64], fact: NDArray[np.uint32] | NDArray[np.int16]
) -> NDArray[np.uint64]:
    """One number for each title and a fact of its work."""
    return key ^ (fact.astype(np.uint64) * _MIX)


def _among(values: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the values are among the others."""
    if not len(others):
        return np.zeros(len(values), np.bool_)
    known = np.sort(others)
    return np.asarray(known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values)


def _once(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mask of the keys that occur only once."""
    known = np.sort(keys)
    repeated = known[1:][known[1:] == known[:-1]]
    return ~_among(keys, repeated)
