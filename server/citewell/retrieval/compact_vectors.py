"""The vectors of a compact segment: product-quantised (Jegou et al. 2011), decoded when read.

The components of a vector are taken in groups, and of each group the nearest of 256 centroids is
kept: one byte for four or five components.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table
from citewell.retrieval.arrays import open_array

CODES, CENTROIDS, SIZES, SHRINK = "codes.npy", "centroids.zst", "groups.zst", "shrink.zst"
CODEWORDS = 256
_STRIPE = 4096


class CompactVectors:
    """Stands for the int8 array of an ordinary index; indexing decodes."""

    dtype = np.dtype(np.int8)

    def __init__(self, folder: Path) -> None:
        """Raises `OSError` or `ValueError`."""
        self._codes: NDArray[np.uint8] = open_array(folder / CODES)
        sizes = load_table(folder / SIZES).astype(np.int64)
        centroids: NDArray[np.int8] = load_table(folder / CENTROIDS)
        if self._codes.dtype != np.uint8 or self._codes.shape[1:] != sizes.shape:
            raise ValueError("the codes do not belong to the groups")
        if centroids.shape != (CODEWORDS, int(sizes.sum())) or centroids.dtype != np.int8:
            raise ValueError("the centroids do not belong to the groups")
        self.shape = (len(self._codes), int(sizes.sum()))
        # Groups of one size are looked up together, each codeword as one integer.
        ends = np.cumsum(sizes)
        self._parts: list[tuple[NDArray[np.int64], int, NDArray[Any], int]] = []
        for size in np.unique(sizes).tolist():
            groups = np.flatnonzero(sizes == size)
            width = 4 if size <= 4 else 8
            table = np.zeros((len(groups), CODEWORDS, width), np.int8)
            for at, group in enumerate(groups.tolist()):
                table[at, :, :size] = centroids[:, ends[group] - size : ends[group]]
            kind = np.uint32 if width == 4 else np.uint64
            if (np.diff(groups) != 1).any():
                raise ValueError("groups of one size must stand together")
            flat = table.reshape(-1).view(kind)
            self._parts.append((groups, size, flat, int(ends[groups[0]] - size)))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.int8]:
        """Rows by a slice or an array of numbers, shape (n, dim)."""
        codes = np.asarray(self._codes[rows])
        out = np.empty((len(codes), self.shape[1]), np.int8)
        for begin in range(0, len(codes), _STRIPE):
            block = codes[begin : begin + _STRIPE]
            for groups, size, table, first in self._parts:
                own = block[:, groups[0] : groups[-1] + 1].astype(np.int32)
                own += np.arange(0, len(groups) * CODEWORDS, CODEWORDS, dtype=np.int32)
                found = table[own].view(np.int8).reshape(len(block), len(groups), -1)
                place = slice(first, first + len(groups) * size)
                out[begin : begin + len(block), place] = found[:, :, :size].reshape(len(block), -1)
        return out


def lengths(folder: Path) -> NDArray[np.float32]:
    """One over each decoded row's length, shape (rows,)."""
    shrink: NDArray[np.float32] = load_table(folder / SHRINK).astype(np.float32)
    return shrink
