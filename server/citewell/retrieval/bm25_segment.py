"""The BM25 index of one segment, mapped from its files."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.contract import SegmentView
from citewell.model import CitewellError, Problem
from citewell.retrieval.arrays import open_array
from citewell.retrieval.compact_terms import BM25, CompactTerms, open_compact_terms

_STEP = 64
"""Terms between two that are kept in memory, so that a look-up touches few pages of the file."""


class Bm25Segment:
    """One segment's index, mapped from its files; several processes share the pages."""

    def __init__(self, view: SegmentView) -> None:
        folder = view.index(BM25)
        self.base, self.count, self.dead = view.base, view.count, view.dead
        try:
            self.data = open_array(folder / "data.csc.index.npy")
            self.rows = open_array(folder / "indices.csc.index.npy")
            self.pointer = open_array(folder / "indptr.csc.index.npy")
            self.fields = open_array(folder / "fields.npy")
            self._ends = open_array(folder / "terms.ends.npy")
            self._order = open_array(folder / "terms.order.npy")
            terms = folder / "terms.bin"
            # An empty file cannot be mapped.
            raw: Any = np.memmap(terms, np.uint8, "r") if len(self._ends) else np.zeros(0, np.uint8)
            self._terms = memoryview(raw.view(np.ndarray))
            ends = self._ends[::_STEP].tolist()
            begins = [0, *self._ends[_STEP - 1 :: _STEP].tolist()]
            self._signposts = [self._terms[a:b].tobytes() for a, b in zip(begins, ends)]  # noqa: B905
            total = int(self.pointer[-1]) if len(self.pointer) else -1
            if len(self.pointer) != len(self._ends) + 1 or total != len(self.rows):
                raise ValueError("its files are inconsistent")
            counted = msgspec.json.decode((folder / "params.index.json").read_bytes())["num_docs"]
            if counted != self.count:
                raise ValueError(f"it holds {counted} papers, not {self.count}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CitewellError(
                Problem(
                    "index-unreadable",
                    f"The BM25 index cannot be read ({error}).",
                    "Run `citewell library build` to rebuild it.",
                    path=str(folder),
                )
            ) from error

    def column(self, term: bytes) -> int:
        """Number of the term, or -1."""
        high = bisect_right(self._signposts, term) * _STEP
        low, high = max(0, high - _STEP), min(high, len(self._ends))
        while low < high:
            middle = (low + high) // 2
            found = self._term(middle)
            if found == term:
                return int(self._order[middle])
            if found < term:
                low = middle + 1
            else:
                high = middle
        return -1

    def _term(self, place: int) -> bytes:
        begin = self._ends[place - 1] if place else 0
        return self._terms[begin : self._ends[place]].tobytes()

    def fields_of(self, at: slice, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The fields in which some papers hold a term, by its postings and the papers' slots."""
        found: NDArray[np.uint8] = self.fields[at][slots]
        return found

    def postings(self, column: int) -> slice:
        """Where the term's papers and scores stand."""
        return slice(int(self.pointer[column]), int(self.pointer[column + 1]))

    def frequency(self, column: int) -> int:
        """Papers that hold the term."""
        return int(self.pointer[column + 1]) - int(self.pointer[column])


IndexSegment = Bm25Segment | CompactTerms
"""The index of a segment of either kind."""


def open_segment(view: SegmentView) -> IndexSegment:
    """One segment's index, of either kind. Raises `CitewellError` where it cannot be read."""
    return open_compact_terms(view) or Bm25Segment(view)
