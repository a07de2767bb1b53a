"""The best rows of a score array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top(scores: NDArray[np.float32], k: int, above: float = -np.inf) -> NDArray[np.int64]:
    """Rows of the `k` highest scores over `above`, best first; equal scores in row order."""
    if k <= 0 or not len(scores):
        return np.zeros(0, np.int64)
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        better = np.flatnonzero(scores > threshold)
        equal = np.flatnonzero(scores == threshold)[: k - len(better)]
        rows = np.concatenate([better, equal])
    else:
        rows = np.arange(len(scores))
    rows = rows[scores[rows] > above]
    order = np.lexsort((rows, -scores[rows]))
    best: NDArray[np.int64] = rows[order]
    return best
