"""The vectors of a compact segment: product-quantised (Jegou et al. 2011), decoded when read.

The components of a vector are taken in groups, and of each group the nearest of 256 centroids is
kept: one byte for four or five components. The codes of one group stand together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table
from citewell.retrieval.arrays import open_array
from citewell.retrieval.scan import dot_products

CODES, CENTROIDS, SIZES, SHRINK = "codes.npy", "centroids.zst", "groups.zst", "shrink.zst"
CODEWORDS = 256
_DECODE_FROM = 16
"""Queries from which it pays to decode the rows."""


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
        if len(queries) >= _DECODE_FROM:
            return dot_products(queries, self[begin:end])
        out = np.empty((len(queries), end - begin), np.float32)
        for at, query in enumerate(queries):
            products = self._centroids.astype(np.float32) * query.astype(np.float32)
            tables = np.stack([products[:, part].sum(axis=1) for part in self._parts])
            least = tables.min(axis=1, keepdims=True)
            scale = max(float((tables - least).max()), 1e-9) / 255
            coded = np.rint((tables - least) / scale).astype(np.uint8)
            total = np.zeros(end - begin, np.uint16)
            for own, table in zip(self._codes, coded, strict=True):
                # `translate` looks up a byte a time in half of the time that an array takes.
                found = own[begin:end].tobytes().translate(table.tobytes())
                total += np.frombuffer(found, np.uint8)
            out[at] = total * np.float32(scale) + np.float32(least.sum())
        return out


def lengths(folder: Path) -> NDArray[np.float32]:
    """One over each decoded row's length, shape (rows,)."""
    shrink: NDArray[np.float32] = load_table(folder / SHRINK).astype(np.float32)
    return shrink
