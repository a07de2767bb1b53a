"""The best rows of a score array, and of the lists of several retrievers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.retrieval.contract import Ranking

# Fusion of the lists of several retrievers into one order.

RRF_K = 60
"""The constant of Cormack, Clarke and Buettcher (SIGIR 2009)."""


class Fused(msgspec.Struct, frozen=True):
    """The union of several lists in one order, with each row's rank in each list."""

    rows: NDArray[np.int64]
    """Shape (n,), best first."""
    scores: NDArray[np.float32]
    """Shape (n,), descending; ties are in row order, which makes the result deterministic."""
    ranks: dict[str, NDArray[np.int32]]
    """Per retriever, shape (n,): 1-based rank of the row in its list; 0 if it is missing."""
    by: dict[str, NDArray[np.float32]]
    """Per retriever, shape (n,): its own score of the row; 0 if it is missing."""


def fuse(lists: Mapping[str, Ranking]) -> Fused:
    """The union of the lists by reciprocal rank fusion: a row scores the sum of 1 / (`RRF_K` +
    rank) over the lists that hold it."""
    known = [ranking.rows for ranking in lists.values() if len(ranking.rows)]
    rows = distinct(np.concatenate(known)) if known else np.zeros(0, np.int64)
    total = np.zeros(len(rows), np.float64)
    ranks: dict[str, NDArray[np.int32]] = {}
    by: dict[str, NDArray[np.float32]] = {}
    for name, ranking in lists.items():
        rank = np.zeros(len(rows), np.int32)
        score = np.zeros(len(rows), np.float32)
        place = np.searchsorted(rows, ranking.rows)
        rank[place] = np.arange(1, len(ranking.rows) + 1)
        score[place] = ranking.scores
        ranks[name], by[name] = rank, score
        total[place] += 1.0 / (RRF_K + rank[place])
    order = np.lexsort((rows, -total))
    return Fused(
        rows[order],
        total[order].astype(np.float32),
        {name: rank[order] for name, rank in ranks.items()},
        {name: score[order] for name, score in by.items()},
    )


_COLUMNS = 4096
"""Number of groups of rows, each represented by its maximum score."""
_ROWS = 4
"""Minimum rows of a group for a meaningful maximum."""
_WAITING = 4
"""Number of rows waiting for comparison, for each one requested."""
_LEAST_WAITING = 8192


class BestRows:
    """The best `k` of scores that come part by part, so that no array of all scores is needed.

    Parts come in ascending order of their rows.
    """

    def __init__(self, k: int, above: float = -np.inf) -> None:
        """Scores up to `above` are left out."""
        self._k = k
        self._most = max(_LEAST_WAITING, _WAITING * k)
        self._rows: list[NDArray[np.int64]] = []
        self._scores: list[NDArray[np.float32]] = []
        self._waiting = 0
        self._is_full = False
        self._above = np.float32(above)
        """Score to exceed: an equal one of a later row comes after `k` others."""

    def add(self, begin: int, scores: NDArray[np.float32]) -> None:
        """Add scores of the rows from `begin` on; -inf for an excluded row."""
        if len(scores) > self._most and not self._is_full:
            rows = top(scores, self._k, float(self._above))
        else:
            rows = np.flatnonzero(scores > self._above)
        self.add_rows(rows + begin, scores[rows])

    def add_rows(self, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Add scores of some rows, in any order."""
        self._rows.append(rows)
        self._scores.append(scores)
        self._waiting += len(rows)
        if self._waiting > self._most:
            best, found = self.best()
            self._rows, self._scores, self._waiting = [best], [found], len(best)
            if len(best) == self._k:
                self._is_full = True
                self._above = found[-1] if self._k else np.float32(np.inf)

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows and their scores, best first; equal scores in row order."""
        if not self._rows:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows: NDArray[np.int64] = np.concatenate(self._rows)
        scores: NDArray[np.float32] = np.concatenate(self._scores)
        if self._k < len(rows):
            rising = np.argsort(rows)
            rows, scores = rows[rising], scores[rising]
            found = top(scores, self._k)
            return rows[found], scores[found]
        found = np.lexsort((rows, -scores))
        return rows[found], scores[found]


def top(scores: NDArray[np.float32], k: int, above: float = -np.inf) -> NDArray[np.int64]:
    """Rows of the `k` highest scores above `above`, best first; equal scores in row order."""
    if k <= 0 or not len(scores):
        return np.zeros(0, np.int64)
    rows = _reaching(scores, k, above)
    found = scores[rows]
    if k < len(rows):
        threshold = _kth_greatest(found, k)
        better = np.flatnonzero(found > threshold)
        equal = np.flatnonzero(found == threshold)[: k - len(better)]
        kept = np.concatenate([better, equal])
        rows, found = rows[kept], found[kept]
    order = np.lexsort((rows, -found))
    best: NDArray[np.int64] = rows[order]
    return best


def within(scores: NDArray[np.float32], count: int, margin: float) -> NDArray[np.int64]:
    """Rows with a score at most `margin` below the `count`-th greatest; none with -inf."""
    rows = _reaching(scores, count, -np.inf)
    if len(rows) < count:
        return rows
    return np.flatnonzero(scores >= _kth_greatest(scores[rows], count) - margin)


def _reaching(scores: NDArray[np.float32], k: int, above: float) -> NDArray[np.int64]:
    """Rows above `above` that may be among the best `k`, ascending.

    A partition takes ten times as long as the maxima of groups of rows, which suffice if `k` of
    them reach a score: then `k` rows do.
    """
    columns = max(_COLUMNS, 8 * k)
    height = len(scores) // columns
    if height < _ROWS:
        return np.flatnonzero(scores > above)
    greatest = scores[: height * columns].reshape(height, columns).max(axis=0)
    least = _kth_greatest(greatest, k)
    return np.flatnonzero(scores >= least if least > above else scores > above)


def _kth_greatest(values: NDArray[np.float32], k: int) -> np.float32:
    """The `k`-th greatest of the values, from 1 on.

    If many values are equal, such as zeros, numpy's partition at a high place takes far longer than
    at a low one: 17 and 0.6 ms for 200,000.
    """
    return np.float32(-np.partition(-values, k - 1)[k - 1])
