"""Dot products of int8 vectors, by the machine's integer instructions where they can be had."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_BLOCK = 8192
_CACHED = 512
"""Rows whose numbers stay in the processor's cache while they are multiplied."""
_CONVERT_FROM = 8
"""Queries from which it pays to convert the rows to float32 and to multiply matrices."""


def dot_products(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Shape (queries, rows). simsimd, which usearch needs too, or numpy where it cannot be loaded
    and where many queries share the rows."""
    if not len(rows):
        return np.zeros((len(queries), 0), np.float32)
    if len(queries) >= _CONVERT_FROM:
        return dot_products_numpy(queries, rows)
    try:
        import simsimd
    except ImportError:
        return dot_products_numpy(queries, rows)
    return np.asarray(simsimd.cdist(queries, rows, "inner", out_dtype="f32"))


def dot_products_numpy(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Dot products by numpy alone, shape (queries, rows)."""
    left = queries.astype(np.float32)
    out = np.empty((len(queries), len(rows)), np.float32)
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK].astype(np.float32)
        np.matmul(left, block.T, out=out[:, begin : begin + _BLOCK])
    return out


class CodedVectors:
    """Vectors as int8 of any scale, compared by direction: a quarter of the memory of float32."""

    def __init__(self, rows: NDArray[np.int8]) -> None:
        self._rows = rows
        self.scale = np.zeros(len(rows), np.float32)
        """One over each row's length, shape (n,); 0 for a row of zeros."""
        for begin, block in self._blocks():
            length = np.linalg.norm(block, axis=1)
            part = self.scale[begin : begin + len(block)]
            np.divide(1, length, out=part, where=length > 0)

    def __len__(self) -> int:
        return len(self._rows)

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Each row's cosine with a vector of length 1, shape (n,); 0 for a row of zeros."""
        out = np.empty(len(self._rows), np.float32)
        for begin, block in self._blocks():
            np.dot(block, vector, out=out[begin : begin + len(block)])
        out *= self.scale
        return out

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        buffer = np.empty((_CACHED, self._rows.shape[1]), np.float32)
        for begin in range(0, len(self._rows), _CACHED):
            rows = self._rows[begin : begin + _CACHED]
            block = buffer[: len(rows)]
            block[:] = rows
            yield begin, block
