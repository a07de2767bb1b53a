"""The contract of every retriever over a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Evidence, Problem, Query
from citewell.model.cancel import Cancel

Mask = Callable[[Query], NDArray[np.bool_] | None]
"""Returns a mask of the rows of the library that pass a query's filters, shape (rows,); None:
all."""


class Ranking(msgspec.Struct, frozen=True):
    """A retriever's answer: library-wide row numbers, best first, without duplicates and dead
    rows."""

    rows: NDArray[np.int64]
    """Shape (n,), n <= k."""
    scores: NDArray[np.float32]
    """Shape (n,), descending."""
    problem: Problem | None = None
    """The reason for an incomplete search."""

    def head(self, k: int) -> Ranking:
        """The first `k` rows."""
        return (
            self if len(self.rows) <= k else Ranking(self.rows[:k], self.scores[:k], self.problem)
        )


NOTHING = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))


class Retriever(Protocol):
    name: str
    waits: bool = False
    """Whether a search mostly waits, for example for a network."""
    scans: bool = False
    """Whether a search is mostly a scan in native code, during which other threads can run. It ends
    soon after its `cancel` is set."""
    is_short: bool = False
    """Whether a search takes less than a millisecond, and reads only the library's files."""

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows. Empty for an empty query. Raises `Cancelled`; checks it often."""
        ...

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        """The best `k` rows for each query, in order. Raises `Cancelled`."""
        return [self.search(query, k, cancel) for query in queries]

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The reason why this row was found: matched fields and words. Called for displayed hits
        only."""
        ...

    def explain_all(
        self, query: Query, rows: Sequence[int], ranks: Sequence[int], scores: Sequence[float]
    ) -> list[Evidence]:
        """The explanations of several rows, in order."""
        return [
            self.explain(query, row, rank, score)
            for row, rank, score in zip(rows, ranks, scores, strict=True)
        ]
