"""The vectors of a compact segment: product-quantised (Jegou et al. 2011), decoded when read.

The components of a vector are taken in groups, and of each group the nearest of 256 centroids is
kept: one byte for four or five components. The codes of one group stand together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table
from citewell.model.cancel import Cancel
from citewell.retrieval.arrays import open_array
from citewell.retrieval.scan import dot_products

CODES, CENTROIDS, SIZES, SHRINK = "codes.npy", "centroids.zst", "groups.zst", "shrink.zst"
CODEWORDS = 256
DECODE_FROM = 16
"""Queries from which it pays to decode the rows."""
_FIRST = 0.4
"""Share of the groups by which all rows are compared at first."""
_KEPT = 12
"""Rows compared at first for each one that is compared by all groups. Of the 200 nearest of 360,461
papers, all were kept in 60 queries; by the first groups none of the 20 nearest was below 1,700."""
_LEAST_KEPT = 40
"""Rows kept for each one that is wanted."""
_SAMPLE = 16
"""Rows for each one of the sample by which the least score of the kept ones is estimated."""
_STRIPE = 65_536
"""Rows between two looks at the cancel."""


class CompactVectors:
    """Stands for the int8 array of an ordinary index; indexing decodes."""

    dtype = np.dtype(np.int8)

    def __init__(self, folder: Path) -> None:
        """Raises `OSError` or `ValueError`."""
        self._codes: NDArray[np.uint8] = open_array(folder / CODES)
        sizes = load_table(folder / SIZES).astype(np.int64)
        self._centroids: NDArray[np.int8] = load_table(folder / CENTROIDS)
        if self._codes.dtype != np.uint8 or self._codes.shape[:1] != sizes.shape:
            raise ValueError("the codes do not belong to the groups")
        dim = int(sizes.sum())
        if self._centroids.shape != (CODEWORDS, dim) or self._centroids.dtype != np.int8:
            raise ValueError("the centroids do not belong to the groups")
        self.shape: tuple[int, int] = (self._codes.shape[1], dim)
        ends = np.cumsum(sizes)
        self._begins = ends - sizes
        self._parts = [slice(int(e - s), int(e)) for s, e in zip(sizes, ends, strict=True)]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.int8]:
        """Rows by a slice or an array of numbers, shape (n, dim)."""
        codes = np.asarray(self._codes[:, rows])
        out = np.empty((codes.shape[1], self.shape[1]), np.int8)
        for own, part in zip(codes, self._parts, strict=True):
            out[:, part] = self._centroids[:, part][own]
        return out

    def products(self, queries: NDArray[np.int8], begin: int, end: int) -> NDArray[np.float32]:
        """Dot products of queries with the rows [begin, end), shape (queries, rows).

        For each group of components the products with the 256 centroids are tabled in 8 bits, and
        a row's codes look up their sum: nothing is decoded. The error is about a thousandth of a
        cosine. Many queries at once share the decoded rows.
        """
        if len(queries) >= DECODE_FROM:
            return dot_products(queries, self[begin:end])
        out = np.empty((len(queries), end - begin), np.float32)
        for at, query in enumerate(queries):
            table = self._table(query)
            out[at] = table.products(self._look_up(table, table.order, slice(begin, end)))
        return out

    def nearest_products(
        self,
        query: NDArray[np.int8],
        shrink: NDArray[np.float32],
        count: int,
        allowed: NDArray[np.bool_] | None,
        cancel: Cancel,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows that may be among the `count` of greatest cosines, rising, and their dot
        products with a query, as `products` gives them.

        The groups in which the query's products differ most decide which rows are compared by the
        other groups, too. `shrink` is one over the length of each row. Rows that are not `allowed`
        are left out.
        """
        table = self._table(query)
        pool = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        kept = max(len(pool) // _KEPT, _LEAST_KEPT * count)
        if 2 * kept >= len(pool):
            return pool, table.products(self._look_up(table, table.order, pool))
        first = table.order[: round(_FIRST * len(table.order))]
        rest = table.order[len(first) :]
        total = np.empty(len(self), np.uint16)
        for begin in range(0, len(self), _STRIPE):
            cancel.check()
            stripe = slice(begin, min(begin + _STRIPE, len(self)))
            total[stripe] = self._look_up(table, first, stripe)
        likeness = table.products(total + np.uint16(table.codes[rest].mean(axis=1).sum()))
        likeness *= shrink
        sample = likeness[pool[::_SAMPLE]]
        place = len(sample) - 1 - kept // _SAMPLE
        least = np.partition(sample, place)[place]
        near = likeness >= least
        if allowed is not None:
            near &= allowed
        rows = np.flatnonzero(near)
        cancel.check()
        return rows, table.products(total[rows] + self._look_up(table, rest, rows))

    def _table(self, query: NDArray[np.int8]) -> _Table:
        products = self._centroids.astype(np.float32) * query.astype(np.float32)
        sums = np.add.reduceat(products, self._begins, axis=1).T
        least = sums.min(axis=1, keepdims=True)
        step = max(float((sums - least).max()), 1e-9) / 255
        codes = np.rint((sums - least) / step).astype(np.uint8)
        order = np.argsort(-codes.std(axis=1), kind="stable")
        return _Table(codes, step, float(least.sum()), order)

    def _look_up(self, table: _Table, groups: NDArray[np.int64], rows: Any) -> NDArray[np.uint16]:
        """The sum of the tabled products of some groups, by row."""
        total = None
        for group in groups:
            # `translate` looks up a byte a time in half of the time that an array takes.
            found = self._codes[group][rows].tobytes().translate(table.codes[group].tobytes())
            values = np.frombuffer(found, np.uint8)
            if total is None:
                total = values.astype(np.uint16)
            else:
                total += values
        assert total is not None
        return total


class _Table(NamedTuple):
    """The products of a query with the centroids, in 8 bits."""

    codes: NDArray[np.uint8]
    """Shape (groups, 256)."""
    step: float
    least: float
    order: NDArray[np.int64]
    """The groups, the one with the most different products first."""

    def products(self, total: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Dot products from sums of codes."""
        return total * np.float32(self.step) + np.float32(self.least)


def lengths(folder: Path) -> NDArray[np.float32]:
    """One over each decoded row's length, shape (rows,)."""
    shrink: NDArray[np.float32] = load_table(folder / SHRINK).astype(np.float32)
    return shrink
