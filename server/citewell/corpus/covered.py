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
    """Rows of a segment whose work stands in one of the segments above, shape (count,).

    None of them where a segment was built without columns.
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
    rows = np.flatnonzero(np.isin(theirs, keys[keys != 0]))
    held = np.flatnonzero(np.isin(keys, theirs[rows]))
    if not len(rows):
        return out
    key, author, year = theirs[rows], lower.first_authors(rows), lower.years()[rows]
    own_key, own_author = keys[held], upper.first_authors(held)
    own_year = upper.years()[held]
    named = own_author != 0
    same = (author != 0) & _among(key, author, own_key[named], own_author[named])
    for step in (-1, 0, 1):
        dated = (year != 0) & _among(key, year, own_key, own_year + np.int16(step))
        nameless = _among(key, year, own_key[~named], own_year[~named] + np.int16(step))
        same |= (dated & (author == 0)) | (nameless & (year != 0))
    out[rows[same]] = True
    return out


def _among(
    key: NDArray[np.uint64],
    fact: NDArray[np.uint32] | NDArray[np.int16],
    keys: NDArray[np.uint64],
    facts: NDArray[np.uint32] | NDArray[np.int16],
) -> NDArray[np.bool_]:
    """Which pairs of a title and a fact are among those of the others."""
    pairs, others = (k ^ (f.astype(np.uint64) * _MIX) for k, f in ((key, fact), (keys, facts)))
    return np.isin(pairs, others)
