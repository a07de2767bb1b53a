"""The papers that pass the filters of a query without words: those cited most often first."""

from __future__ import annotations

import numpy as np

from citewell.corpus.array_sets import is_among
from citewell.corpus.library import Library
from citewell.engine.retrievers import Opened
from citewell.model import CitewellError, Evidence, Hit, Query, SearchResult
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.opening import live_rows

NAME = "filters"
"""The retriever in the evidence."""


class Listing:
    """Over one library. Safe to call from any thread."""

    def __init__(self, library: Library, opened: Opened) -> None:
        self._library = library
        self._filters = opened.filters
        self._cited = opened.of(CitationContextRetriever)

    def of(self, query: Query, k: int) -> SearchResult | None:
        """The best `k`, by how often they are cited, then the newest; None without filters."""
        mask = None if self._filters is None else self._filters(query)
        if mask is None or self._filters is None:
            return None
        rows = np.flatnonzero(mask & live_rows(self._library))
        try:
            rows = rows[~is_among(rows, self._library.rows_of(query.exclude))]
            if not len(rows):
                empty = self._filters.empty(query)
                return SearchResult(problems=() if empty is None else (empty,))
            often = self._often(rows)
            years = self._library.columns().year[rows]
            best = np.lexsort((rows, -years.astype(np.int32), -often))[:k]
            works = self._library.works(rows[best], whole=True)
        except CitewellError as error:
            return SearchResult(problems=(error.problem,))
        hits = tuple(
            Hit(work=work, score=float(often[at]), evidence=(Evidence(NAME, n, float(often[at])),))
            for n, (at, work) in enumerate(zip(best, works, strict=True), 1)
        )
        return SearchResult(hits=hits, variant=NAME)

    def _often(self, rows: np.ndarray) -> np.ndarray:
        """The logarithm of one more than how often each row is cited."""
        citations: np.ndarray = np.log1p(np.maximum(self._library.columns().citations[rows], 0))
        if self._cited is None:
            return citations
        return np.asarray(np.maximum(citations, self._cited.popularity[rows]))
