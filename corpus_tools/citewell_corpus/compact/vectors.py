"""Writes the vectors of a compact segment by product quantisation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import save_table
from citewell.retrieval.arrays import save_array
from citewell.retrieval.compact_vectors import CENTROIDS, CODES, CODEWORDS, SHRINK, SIZES

_SAMPLE = 65_536
_ROUNDS = 20
_BLOCK = 16_384
_SEED = 1


def group_sizes(dim: int, groups: int) -> list[int]:
    """Components in each group: as even as can be, the larger groups first."""
    small, more = divmod(dim, groups)
    return [small + 1] * more + [small] * (groups - more)


def write_vectors(
    folder: Path, vectors: NDArray[np.int8], sizes: Sequence[int]
) -> NDArray[np.float32]:
    """Write the codes of all rows; the cosine of each with its original, shape (rows,)."""
    count, dim = vectors.shape
    chosen = np.random.default_rng(_SEED).permutation(count)[:_SAMPLE]
    sample = _unit(vectors[np.sort(chosen)])
    centroids = np.zeros((CODEWORDS, dim), np.float32)
    ends = np.cumsum(sizes)
    for size, end in zip(sizes, ends.tolist(), strict=True):
        centroids[:, end - size : end] = _centroids(sample[:, end - size : end])
    scale = 127 / max(float(np.abs(centroids).max()), 1e-9)
    coded = np.rint(centroids * scale).astype(np.int8)
    own = coded.astype(np.float32) / scale
    codes = np.zeros((len(sizes), count), np.uint8)
    shrink = np.zeros(count, np.float32)
    cosine = np.zeros(count, np.float32)
    for begin in range(0, count, _BLOCK):
        block = _unit(vectors[begin : begin + _BLOCK])
        decoded = np.zeros(block.shape, np.float32)
        for group, (size, end) in enumerate(zip(sizes, ends.tolist(), strict=True)):
            part = slice(end - size, end)
            near = _nearest(block[:, part], own[:, part])
            codes[group, begin : begin + len(block)] = near
            decoded[:, part] = coded[near, part]
        known = np.abs(block).max(axis=1, initial=0) > 0
        length = np.linalg.norm(decoded, axis=1)
        good = known & (length > 0)
        at = slice(begin, begin + len(block))
        np.divide(1.0, length, out=shrink[at], where=good)
        cosine[at] = np.einsum("ij,ij->i", block, decoded) * shrink[at]
    save_array(folder / CODES, codes)
    save_table(folder / SIZES, np.array(sizes, np.uint8))
    save_table(folder / CENTROIDS, coded)
    save_table(folder / SHRINK, shrink.astype(np.float16))
    return cosine


def _unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    out = vectors.astype(np.float32)
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return np.asarray(np.divide(out, length, out=out, where=length > 0), np.float32)


def _nearest(rows: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """Number of the nearest centroid of each row."""
    distance = np.einsum("ij,ij->i", centroids, centroids) - 2 * (rows @ centroids.T)
    return np.asarray(distance.argmin(axis=1), np.int64)


def _centroids(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lloyd's algorithm from distinct rows; an empty cluster keeps its place."""
    start = np.unique(rows, axis=0)
    pick = np.random.default_rng(_SEED).permutation(len(start))[:CODEWORDS]
    found = np.zeros((CODEWORDS, rows.shape[1]), np.float32)
    found[: len(pick)] = start[np.sort(pick)]
    for _ in range(_ROUNDS):
        near = _nearest(rows, found)
        often = np.bincount(near, minlength=CODEWORDS)
        for at in range(rows.shape[1]):
            total = np.bincount(near, rows[:, at], CODEWORDS)
            found[:, at] = np.where(often > 0, total / np.maximum(often, 1), found[:, at])
    return found
