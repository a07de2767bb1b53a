"""The rows of each author of a compact segment, and the first author of each row: its records hold
the authors of each row, in a form that takes a while to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import distinct, ranges
from citewell.corpus.compact.catalogue import CompactCatalogue
from citewell.corpus.compact.codec import decode_varints
from citewell.corpus.mapped_arrays import Arrays, mapped_arrays

KEPT_FROM = 20_000
"""With fewer rows the arrays are computed in some milliseconds."""
_SOURCES = (
    "authors.npy",
    "author_sizes.zst",
    "crowd_rows.zst",
    "crowd_sizes.zst",
    "crowd_authors.zst",
    "surname.npy",
)


class Crowds:
    """Works with hundreds of authors: `rows`, rising, and the numbers of their authors end to end,
    those of work i at `[starts[i], starts[i + 1])`."""

    def __init__(
        self, rows: NDArray[np.int32], starts: NDArray[np.int64], numbers: NDArray[np.int32]
    ) -> None:
        self.rows, self.starts, self.numbers = rows, starts, numbers

    def of(self, row: int) -> NDArray[np.int32]:
        """The authors' numbers of one such row."""
        at = int(np.searchsorted(self.rows, row))
        return self.numbers[int(self.starts[at]) : int(self.starts[at + 1])]


class AuthorRows:
    """Looks rows up by author. Safe to call from any thread."""

    def __init__(
        self,
        folder: Path,
        records: CompactCatalogue,
        crowds: Crowds,
        surnames: NDArray[np.uint32],
    ) -> None:
        """`surnames` are hashes, by author. What is made for a large segment is kept in the cache.
        Raises `OSError` for a file that cannot be read."""

        def make() -> Arrays:
            return _by_author(records, crowds, surnames)

        sources = [folder / name for name in _SOURCES]
        large = records.count >= KEPT_FROM
        arrays = mapped_arrays("author-rows-1", sources, make) if large else make()
        self._starts: NDArray[np.int64] = arrays["starts"]
        self._rows: NDArray[np.int32] = arrays["rows"]
        self.first: NDArray[np.uint32] = arrays["first"]
        """Surname hash of each row's first author, 0 where there is none."""

    def of(self, authors: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of any of the authors, given by number, rising."""
        places, _ = ranges(self._starts[authors], self._starts[authors + 1])
        return distinct(self._rows[places].astype(np.int64))


def _by_author(records: CompactCatalogue, crowds: Crowds, surnames: NDArray[np.uint32]) -> Arrays:
    """`starts`, shape (authors + 1,), and `rows`: those of author i are at `[starts[i],
    starts[i + 1])`; and `first`."""
    numbers = decode_varints(records.authors)
    starts = np.concatenate([[0], np.cumsum(records.authors < 128)])[records.author_starts]
    count = np.diff(starts)
    owner = np.repeat(np.arange(records.count), count)
    crowd_owner = np.repeat(crowds.rows, np.diff(crowds.starts))
    every = np.concatenate([numbers, crowds.numbers]).astype(np.uint64)
    rows = np.concatenate([owner, crowd_owner]).astype(np.uint64)
    pairs = np.sort(every << np.uint64(32) | rows)
    bounds = np.arange(len(surnames) + 1, dtype=np.uint64) << np.uint64(32)
    first = np.zeros(records.count, np.uint32)
    first[crowds.rows] = surnames[crowds.numbers[crowds.starts[:-1]]]
    first[count > 0] = surnames[numbers[starts[:-1][count > 0]]]
    return {
        "starts": np.searchsorted(pairs, bounds).astype(np.int64),
        "rows": (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32),
        "first": first,
    }
