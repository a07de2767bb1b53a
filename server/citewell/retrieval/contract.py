"""The contract that every retriever over a library keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Evidence, Problem, Query
from citewell.model.cancel import Cancel

Mask = Callable[[Query], NDArray[np.bool_] | None]
"""Which rows of the library a query's filters allow, shape (rows,); None: all."""


class Ranking(msgspec.Struct, frozen=True):
    """A retriever's answer: library-wide row numbers, best first, no row twice, no dead row."""

    rows: NDArray[np.int64]
    """Shape (n,), n <= k."""
    scores: NDArray[np.float32]
    """Shape (n,), falling."""
    problem: Problem | None = None
    """What was not searched as it should be."""

    def head(self, k: int) -> Ranking:
        """The best `k` of it."""
        return (
            self if len(self.rows) <= k else Ranking(self.rows[:k], self.scores[:k], self.problem)
        )


NOTHING = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))


class Retriever(Protocol):
    name: str
    waits: bool = False
    """Whether most of a search is waiting, such as for a network."""
    scans: bool = False
    """Whether most of a search is a scan in native code, during which other threads may run. It
    ends soon after its `cancel` is set."""
    is_short: bool = False
    """Whether a search takes less than a millisecond, and reads nothing but the library's files."""

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows. Empty for an empty query. Raises `Cancelled`; checks it often."""
        ...

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        """The best `k` rows for each query, in order. Raises `Cancelled`."""
        return [self.search(query, k, cancel) for query in queries]

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """Why this row was found: matched fields and words. Called for shown hits only."""
        ...

    def explain_all(
        self, query: Query, rows: Sequence[int], ranks: Sequence[int], scores: Sequence[float]
    ) -> list[Evidence]:
        """As `explain` does for each row, in order."""
        return [
            self.explain(query, row, rank, score)
            for row, rank, score in zip(rows, ranks, scores, strict=True)
        ]
