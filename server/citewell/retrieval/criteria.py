"""How many of a typed query's conditions each paper meets: authors, venues, years, topic.

Conditions that are typed without a flag are strong evidence, no filters: papers that meet all of
them come first, those that meet fewer follow. The retriever brings papers that the words alone
would leave out; `engine.criteria_order` sorts by the same numbers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.model.typed_query import TypedQuery
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.filters import Filters
from citewell.retrieval.opening import Opening
from citewell.retrieval.phrases import rows_with_phrase

NAME = "criteria"
AUTHOR, VENUE, YEAR, NEAR_YEAR, TOPIC, PHRASE, RELATED = 4.0, 1.5, 1.5, 0.75, 3.0, 2.0, 4.0
"""What each condition adds for a paper that meets it; all authors together count once."""
STEPS = 4
"""Steps in which the share of the topic's words counts: finer differences are the ranker's."""
_REMEMBERED = 8

Rows = NDArray[np.bool_]
Related = Callable[[str, str], NDArray[np.int64]]
"""Rows beside a work in the citation graph: its id, and "cites", "cited_by" or "like"."""


class Criteria(Retriever):
    """The retriever. Safe to call from any thread."""

    name = NAME

    def __init__(self, filters: Filters, terms: Bm25Retriever, library: Library,
                 live: Rows) -> None:  # fmt: skip
        self._filters, self._terms, self._library, self._live = filters, terms, library, live
        self._years = library.columns().year
        self.related: Related | None = None
        """Set by the engine, which has the citation graph."""
        self._known: OrderedDict[TypedQuery, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def points(self, query: Query) -> NDArray[np.float32] | None:
        """The sum of what each row meets, shape (rows,); None for a query without conditions."""
        typed = query.typed_query
        if not has_criteria(typed):
            return None
        with self._lock:
            if typed in self._known:
                self._known.move_to_end(typed)
                return self._known[typed]
        points = self._points(typed)
        with self._lock:
            self._known[typed] = points
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return points

    def _points(self, typed: TypedQuery) -> NDArray[np.float32]:
        count = len(self._years)
        points = np.zeros(count, np.float32)
        for name in typed.authors:
            points += np.float32(AUTHOR / len(typed.authors)) * self._filters.by(name)
        for venue in typed.venues:
            points += np.float32(VENUE / len(typed.venues)) * self._filters.at(venue)
        if typed.year_from is not None or typed.year_to is not None:
            points += self._of_years(typed.year_from, typed.year_to)
        for phrase in typed.phrases:
            share = np.float32(PHRASE / len(typed.phrases))
            points += share * rows_with_phrase(self._library, self._terms, phrase, count)
        for direction, works in relations(typed):
            for work in works if self.related is not None else ():
                assert self.related is not None
                rows = self.related(work, direction)
                points[rows] += np.float32(RELATED)
        covered = self._terms.coverage(typed.topic, count) if typed.topic else None
        if covered is not None:
            points += np.float32(TOPIC) * (np.floor(covered * STEPS + 1e-3) / STEPS)
        return points

    def _of_years(self, low: int | None, high: int | None) -> NDArray[np.float32]:
        years = self._years.astype(np.int32)
        least, most = low or 1, 9999 if high is None else high
        inside = (years >= least) & (years <= most)
        points = np.where(inside, YEAR, 0.0)
        if low == high:
            points[(np.abs(years - least) == 1) & (years > 0)] = NEAR_YEAR
        return points.astype(np.float32)

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The `k` rows that meet the most; of equal ones those whose words fit the topic best."""
        points = self.points(query)
        empty = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
        if points is None:
            return empty
        cancel.check()
        mask = self._filters(query)
        allowed = self._live if mask is None else self._live & mask
        scores = np.where(allowed, points, 0)
        topic = Query(text=query.typed_query.topic)
        words = self._terms.scores(topic, cancel) if topic.text else None
        if words is not None:
            most = float(words.max(initial=0)) or 1.0
            scores[: len(words)] += words / np.float32(most * 10) * (scores[: len(words)] > 0)
        count = min(k, int((scores > 0).sum()))
        if not count:
            return empty
        rows = np.argpartition(-scores, count - 1)[:count]
        rows = rows[np.lexsort((rows, -scores[rows]))].astype(np.int64)
        return Ranking(rows, scores[rows].astype(np.float32))

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """Which of the conditions the paper meets."""
        typed = query.typed_query
        fields, words = [], []
        by = [name for name in typed.authors if self._filters.by(name)[row]]
        at = [venue for venue in typed.venues if self._filters.at(venue)[row]]
        if by:
            fields.append("authors")
        if at:
            fields.append("venue")
        low, high = typed.year_from, typed.year_to
        if (low is not None or high is not None) and self._of_years(low, high)[row] >= YEAR:
            fields.append("year")
            words.append(str(self._years[row]))
        return Evidence(self.name, rank, score, tuple(fields), (*by, *at, *words))


def has_criteria(typed: TypedQuery) -> bool:
    """Whether a typed query has conditions that bring papers of their own."""
    return bool(
        typed.authors or typed.venues or typed.phrases
        or typed.year_from is not None or typed.year_to is not None
        or any(works for _, works in relations(typed))
    )  # fmt: skip


def relations(typed: TypedQuery) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Works that papers should cite, be cited by, or be cited with."""
    return (("cites", typed.cites), ("cited_by", typed.cited_by), ("like", typed.like))


def open_criteria(opening: Opening) -> Criteria | None:
    """None for a library without a BM25 index that can be read."""
    terms = opening.known_terms
    if terms is None:
        return None
    return Criteria(opening.mask, terms, opening.library, opening.live)
