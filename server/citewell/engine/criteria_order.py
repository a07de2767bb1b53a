"""Sorts candidates by the conditions of a typed query, and by what it prefers.

Papers that meet all conditions come first, then those that meet fewer; among equal ones the order
of the ranker stands. "Recent", "early", "influential" and "survey" sort within bands of the order:
they prefer, and never bring a paper of another topic to the top.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import distinct
from citewell.engine.retrievers import Opened
from citewell.engine.signals import LibrarySignals
from citewell.model import Evidence, Query
from citewell.model.typed_query import TypedQuery
from citewell.ranking.contract import Ordering
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.criteria import NAME, Criteria
from citewell.retrieval.query_grammar.words import TITLE_WORDS

BAND = 10
"""Papers in a row among which a preference decides."""
STEP = np.float32(100.0)
"""Added to a score for each point: more than any ranker's score spans."""


class CriteriaOrder:
    """Over one library. Safe to call from any thread."""

    def __init__(self, opened: Opened, signals: LibrarySignals) -> None:
        found = opened.typed.get(NAME)
        self._criteria = found if isinstance(found, Criteria) else None
        self._terms = opened.of(Bm25Retriever)
        self._signals = signals

    def reorder(self, query: Query, rows: NDArray[np.int64], ordering: Ordering) -> Ordering:
        """The ordering by points, then by preference within bands, then as it was."""
        typed = query.typed_query
        if self._criteria is None or typed == TypedQuery() or not len(rows):
            return ordering
        ranked = rows[ordering.order]
        every = self._criteria.points(query)
        points = np.zeros(len(ranked), np.float32) if every is None else every[ranked]
        points = np.round(points, 3)
        preferred = self._preferred(typed, ranked)
        if not points.any() and preferred is None:
            return ordering
        places = np.lexsort((np.arange(len(ranked)), -points))
        if preferred is not None:
            bands = np.arange(len(ranked)) // BAND
            places = places[np.lexsort((np.arange(len(ranked)), -preferred[places], bands))]
            # A preference decides nothing between papers that meet different conditions.
            places = places[np.lexsort((np.arange(len(ranked)), -points[places]))]
        return _permuted(ordering, places, points)

    def evidence(self, before: Ordering, after: Ordering, at: int) -> tuple[Evidence, ...]:
        """Where the conditions put the candidate `at` its place in the fused list."""
        old = int(np.flatnonzero(before.order == at)[0])
        new = int(np.flatnonzero(after.order == at)[0])
        if old == new:
            return ()
        return (Evidence("conditions", new + 1, float(after.scores[new]), before=old + 1),)

    def _preferred(self, typed: TypedQuery, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """What is preferred of each row, higher first; None where nothing is."""
        if not (typed.recency or typed.influential or typed.kinds):
            return None
        out = np.zeros(len(rows), np.float64)
        if typed.recency:
            years = self._signals.years[rows].astype(np.float64)
            known = years > 0
            out += np.where(known, years if typed.recency == "recent" else -years, -4000)
        if typed.influential:
            often = np.log1p(np.maximum(self._signals.cited(rows), 0))
            out += often * (1 if typed.recency == "" else 0.5)
        if typed.kinds and self._terms is not None:
            out += 10.0 * self._of_kind(typed.kinds, rows)
        return out

    def _of_kind(self, kinds: tuple[str, ...], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        assert self._terms is not None
        found = np.zeros(len(rows), np.bool_)
        for word in {word for kind in kinds for word in TITLE_WORDS[kind]}:
            found |= self._terms.titled(word, rows)
        return found


def _permuted(
    ordering: Ordering, places: NDArray[np.int64], points: NDArray[np.float32]
) -> Ordering:
    """The ordering rearranged by `places`, which index into it; its scores are descending."""
    own = ordering.scores[places]
    # Among equal points a preference may have moved papers, so their scores are sorted again.
    tiers = points[places] * STEP
    shown = np.empty_like(own)
    for tier in distinct(tiers):
        inside = tiers == tier
        shown[inside] = np.sort(own[inside])[::-1] + tier
    confidence = None if ordering.confidence is None else ordering.confidence[places]
    calibrate = ordering.calibrate

    def changed(scores: NDArray[np.float32]) -> NDArray[np.float32]:
        assert calibrate is not None
        # The change is what the caller added to the scores shown.
        old = np.empty_like(own)
        old[places] = own + (scores - shown)
        return calibrate(old)[places]

    return Ordering(
        ordering.order[places],
        shown.astype(np.float32),
        confidence,
        None if calibrate is None else changed,
    )
