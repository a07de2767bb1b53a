"""Dot products of int8 vectors, by the machine's integer instructions where they can be had."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 8192
_PACK_FROM = 4
"""Queries from which it pays to bring the rows into the order of the matrix instructions first."""


def dot_products(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Shape (queries, rows). numkong, which usearch brings, or numpy where it cannot be loaded."""
    if not len(rows):
        return np.zeros((len(queries), 0), np.float32)
    try:
        import numkong
    except ImportError:
        return dot_products_numpy(queries, rows)
    if len(queries) < _PACK_FROM:
        return np.asarray(numkong.cdist(queries, rows, "dot")).astype(np.float32)
    packed = numkong.dots_pack(np.ascontiguousarray(rows))
    return np.asarray(numkong.dots_packed(queries, packed)).astype(np.float32)


def dot_products_numpy(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Dot products by numpy alone, shape (queries, rows)."""
    left = queries.astype(np.float32)
    out = np.empty((len(queries), len(rows)), np.float32)
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK].astype(np.float32)
        np.matmul(left, block.T, out=out[:, begin : begin + _BLOCK])
    return out
