"""The best rows of a score array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_COLUMNS = 4096
"""Groups of rows of which each gives its greatest score."""
_ROWS = 4
"""Rows a group needs for its greatest score to say something."""
_WAITING = 4
"""Rows that wait to be compared, for each one that is wanted."""
_LEAST_WAITING = 8192


class BestRows:
    """The best `k` of scores that come part by part, so that no array of all scores is needed.

    The rows of each part are above those of the parts before it.
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
        """What a score has to exceed: an equal one of a later row comes after `k` others."""

    def add(self, begin: int, scores: NDArray[np.float32]) -> None:
        """Scores of the rows from `begin` on; -inf for a row that is left out."""
        if len(scores) > self._most and not self._is_full:
            rows = top(scores, self._k, float(self._above))
        else:
            rows = np.flatnonzero(scores > self._above)
        self.add_rows(rows + begin, scores[rows])

    def add_rows(self, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Scores of some rows, in any order."""
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
    """Rows of the `k` highest scores over `above`, best first; equal scores in row order."""
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
    """Rows whose score is at most `margin` below the `count`-th greatest; none of -inf."""
    rows = _reaching(scores, count, -np.inf)
    if len(rows) < count:
        return rows
    return np.flatnonzero(scores >= _kth_greatest(scores[rows], count) - margin)


def _reaching(scores: NDArray[np.float32], k: int, above: float) -> NDArray[np.int64]:
    """Rows over `above` that may be among the best `k`, rising.

    A partition takes ten times as long as the greatest scores of groups of rows, where they say
    enough: if `k` of them reach a score, `k` rows do.
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

    Where many values are alike, such as zeros, numpy's partition at a high place takes ten times as
    long as at a low one: 17 and 0.6 ms for 200,000.
    """
    return np.float32(-np.partition(-values, k - 1)[k - 1])
