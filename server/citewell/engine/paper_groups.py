"""Groups of similar papers of a list, by their dense vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.lookup import LookUp
from citewell.engine.retrievers import Opened
from citewell.model import Query
from citewell.retrieval.dense import DenseRetriever

# Clustering of vectors: spherical k-means from a fixed start.

ITERATIONS = 25
LEAST = 3
"""Minimum number of papers in a group; those of a smaller one join the nearest groups."""


def clusters(vectors: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """The group of each row of `vectors` (n, d), from 0; -1 for a row of zeros.

    At most `most` groups. The same vectors always give the same groups: the first centre is the
    first row, and each next one the row that is farthest from all others.
    """
    out = np.full(len(vectors), -1, np.int64)
    known = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
    if not len(known):
        return out
    rows = vectors[known].astype(np.float64)
    # Papers on one topic share most of their direction; the rest separates them.
    rows -= rows.mean(axis=0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-9)
    count = max(1, min(most, len(rows) // LEAST))
    groups = _merged(rows, _groups(rows, count))
    out[known] = np.unique(groups, return_inverse=True)[1]
    return out


def _groups(rows: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    centres = rows[_spread(rows, count)]
    groups = np.full(len(rows), -1, np.int64)
    for _ in range(ITERATIONS):
        found = np.argmax(rows @ centres.T, axis=1)
        if (found == groups).all():
            break
        groups = found
        for number in range(count):
            own = rows[groups == number]
            if len(own):
                centre = own.sum(axis=0)
                centres[number] = centre / max(float(np.linalg.norm(centre)), 1e-9)
    return groups


def _spread(rows: NDArray[np.float64], count: int) -> list[int]:
    """Numbers of rows far from each other, beginning with the first row."""
    chosen = [0]
    nearest = rows @ rows[0]
    while len(chosen) < count:
        nearest[chosen] = np.inf
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return chosen


def _merged(rows: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The groups with rows of those below `LEAST` moved to the nearest others."""
    sizes = np.bincount(groups)
    large = np.flatnonzero(sizes >= LEAST)
    if not len(large):
        return np.zeros(len(rows), np.int64)
    centres = np.stack([rows[groups == number].mean(axis=0) for number in large])
    small = sizes[groups] < LEAST
    groups = groups.copy()
    groups[small] = large[np.argmax(rows[small] @ centres.T, axis=1)]
    return groups


class PaperGroups:
    """Groups papers of one library, or none. Thread-safe."""

    def __init__(self, library: Library | None, opened: Opened, lookup: LookUp) -> None:
        self._library, self._opened, self._lookup = library, opened, lookup

    def of(self, ids: Sequence[str], most: int) -> list[int]:
        """The group of each paper, from 0; -1 without a vector."""
        dense = self._opened.of(DenseRetriever)
        if dense is None or not ids:
            return [-1] * len(ids)
        found: list[int] = clusters(self._vectors(dense, ids), most).tolist()
        return found

    def likeness(self, query: Query, ids: Sequence[str]) -> list[float]:
        """The cosine of each paper with a query; 0 without a vector."""
        dense = self._opened.of(DenseRetriever)
        if dense is None or not ids:
            return [0.0] * len(ids)
        vectors = self._vectors(dense, ids)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        found: list[float] = (vectors @ dense.encoder.encode_queries([query])[0] / lengths).tolist()
        return found

    def _vectors(self, dense: DenseRetriever, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each paper, or a row of zeros."""
        rows = np.full(len(ids), -1, np.int64)
        if self._library is not None:
            rows = np.asarray(self._library.rows_of(ids), np.int64)
        vectors = np.zeros((len(ids), dense.encoder.dim), np.float32)
        held = rows >= 0
        vectors[held] = dense.vectors(rows[held])
        # Records of sources, and of a library below with another encoder, are encoded here.
        missing = np.flatnonzero(np.linalg.norm(vectors, axis=1) == 0)
        works = self._lookup.works([ids[int(at)] for at in missing]) if len(missing) else []
        texts = [("", "") if work is None else (work.title, work.abstract) for work in works]
        if texts:
            vectors[missing] = dense.encoder.encode_papers(texts)
        return vectors
