"""Adds up the scores of a large library part by part.

An array with a score for every row is 40 MB for ten million papers: it would be cleared, copied and
searched for each query, and its lines do not fit into the processor's caches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.model.cancel import Cancel
from citewell.retrieval.bm25_segment import IndexSegment, Segment
from citewell.retrieval.contract import Ranking
from citewell.retrieval.select import BestRows

ROWS = 1 << 20
"""Rows of a part: their scores take 4 MB."""

WeightedColumn = tuple[int, np.float32]
"""A term's column in a segment, at least 0, and its weight."""


def best_of_parts(
    segments: Sequence[IndexSegment],
    columns: Sequence[Sequence[WeightedColumn]],
    k: int,
    allowed: NDArray[np.bool_] | None,
    cancel: Cancel,
    *,
    rows: int = ROWS,
) -> Ranking:
    """The `k` rows with the greatest sums over 0; ties in row order.

    `columns` are the terms of each segment, which are added in their order. `allowed` says which
    rows of the library may be found.
    """
    best = BestRows(k, above=0.0)
    for segment, own in zip(segments, columns, strict=True):
        if not own:
            continue
        # The postings of a compact segment are decoded a list at a time.
        size = rows if isinstance(segment, Segment) else segment.count
        for begin, scores in _parts(segment, own, size, cancel):
            end = begin + len(scores)
            if segment.dead is not None:
                scores[segment.dead[begin:end]] = 0.0
            if allowed is not None:
                scores[~allowed[segment.base + begin : segment.base + end]] = 0.0
            best.add(segment.base + begin, scores)
    return Ranking(*best.best())


def _parts(
    segment: IndexSegment, columns: Sequence[WeightedColumn], rows: int, cancel: Cancel
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The first row of each part and the scores of its rows, which the next part overwrites."""
    begins = range(0, segment.count, max(1, rows))
    lists = [segment.postings(column) for column, _ in columns]
    if len(begins) > 1:
        edges = np.array([*begins, segment.count], np.int32)
        bounds = [at.start + np.searchsorted(segment.rows[at], edges) for at in lists]
    else:
        bounds = [np.array([at.start, at.stop]) for at in lists]
    scratch = np.empty(min(rows, segment.count), np.float32)
    for number, begin in enumerate(begins):
        scores = scratch[: min(rows, segment.count - begin)]
        scores[:] = 0.0
        for bound, (_, weight) in zip(bounds, columns, strict=True):
            cancel.check()
            at = slice(int(bound[number]), int(bound[number + 1]))
            if at.start < at.stop:
                papers = segment.rows[at]
                np.add.at(scores, papers - begin if begin else papers, segment.data[at] * weight)
        yield begin, scores
