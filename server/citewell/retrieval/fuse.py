"""Fusing the lists of several retrievers into one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.retrieval.contract import Ranking

RRF_K = 60
"""The constant of Cormack, Clarke and Buettcher (SIGIR 2009)."""


class Fused(msgspec.Struct, frozen=True):
    """The union of several lists in one order, with each row's place in each list."""

    rows: NDArray[np.int64]
    """Shape (n,), best first."""
    scores: NDArray[np.float32]
    """Shape (n,), descending; ties are in row order, which makes the result deterministic."""
    ranks: dict[str, NDArray[np.int32]]
    """Per retriever, shape (n,): 1-based rank of the row in its list; 0 where it is not in it."""
    by: dict[str, NDArray[np.float32]]
    """Per retriever, shape (n,): its own score of the row; 0 where the row is not in its list."""


def fuse(
    lists: Mapping[str, Ranking], method: Literal["rrf", "max"] = "rrf", k: float = RRF_K
) -> Fused:
    """The union of the lists by reciprocal rank fusion, or by the highest normalised score.

    "rrf": the sum of 1 / (k + rank) over the lists that hold the row. "max": each list's scores
    are brought to [0, 1] by its own least and greatest, and a row takes its best.
    """
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
        if method == "rrf":
            total[place] += 1.0 / (k + rank[place])
        else:
            total[place] = np.maximum(total[place], _normalised(ranking.scores))
    order = np.lexsort((rows, -total))
    return Fused(
        rows[order],
        total[order].astype(np.float32),
        {name: rank[order] for name, rank in ranks.items()},
        {name: score[order] for name, score in by.items()},
    )


def _normalised(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    if not len(scores):
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    if high <= low:
        return np.ones(len(scores))
    return (scores.astype(np.float64) - low) / (high - low)
