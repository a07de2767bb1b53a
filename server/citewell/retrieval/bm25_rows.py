"""What the terms of a query give some rows only, without scores of all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.bm25_segment import IndexSegment


class RowScores:
    """What each term gives some rows. It is searched for once: a ranker asks for the scores of a
    query and of its parts."""

    def __init__(self, segments: Sequence[IndexSegment], rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self._parts = [SegmentRows(segment, rows) for segment in segments]
        self._known: list[dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]]] = [
            {} for _ in segments
        ]

    def add(
        self, columns: Sequence[int], weights: Sequence[np.float32], out: NDArray[np.float32]
    ) -> None:
        """Add what a term gives to the scores of the rows, shape (n,). Its column and its weight
        are those in each segment; the column is -1 where a segment lacks the term."""
        for part, known, column, weight in zip(
            self._parts, self._known, columns, weights, strict=True
        ):
            if column < 0 or not len(part):
                continue
            found = known.get(column)
            if found is None:
                places, at, slots = part.find(column)
                found = known[column] = places, part.segment.data[at][slots]
            out[found[0]] += found[1] * weight


class SegmentRows:
    """The rows of one segment among some rows."""

    def __init__(self, segment: IndexSegment, rows: NDArray[np.int64]) -> None:
        self.segment = segment
        place = np.flatnonzero((rows >= segment.base) & (rows < segment.base + segment.count))
        self._place = place[np.argsort(rows[place])]  # the search is fastest for rising rows
        self._own = (rows[self._place] - segment.base).astype(np.int32)

    def __len__(self) -> int:
        return len(self._own)

    def find(self, column: int) -> tuple[NDArray[np.int64], slice, NDArray[np.int64]]:
        """The places of the rows that hold a term, its postings, and the slots of these rows among
        them."""
        at = self.segment.postings(column)
        papers = self.segment.rows[at]
        slot = np.searchsorted(papers, self._own)
        slot[slot == len(papers)] = 0
        hit = np.flatnonzero(papers[slot] == self._own)
        return self._place[hit], at, slot[hit]
