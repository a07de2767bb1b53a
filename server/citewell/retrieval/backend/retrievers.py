"""The retrievers of words, meaning and citations over a back end: it proposes candidates, and exact
scores decide.

Filters of a query go to the back end if its payload has the compared values. A query with another
filter, and libraries below, use the embedded indexes. If the back end cannot answer, the embedded
indexes do, and the answer gives the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.retrieval.backend.connection import Connection, held_segments
from citewell.retrieval.backend.contract import CITED, TermWeights
from citewell.retrieval.backend.over_backend import OverBackend
from citewell.retrieval.backend.write import cited_query, cited_works, words_fingerprint
from citewell.retrieval.bm25 import MAX_POSTINGS, MAX_TERMS, Bm25Retriever
from citewell.retrieval.bm25_build import lucene_idf_of
from citewell.retrieval.bm25_segment import term_hash
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.contract import NOTHING, Ranking, Retriever
from citewell.retrieval.dense import DenseRetriever
from citewell.retrieval.opening import Opening


class BackendBm25(OverBackend, Bm25Retriever):
    """BM25 with the inverse document frequencies of the whole library in the query."""

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows; ties in row order."""
        where = self._where(query)
        if where is None:
            return super().search(query, k, cancel)
        terms = self._hashed(query)
        if not len(terms.hashes):
            return NOTHING
        cancel.check()
        found = self._found("words", where, lambda backend: backend.weighted(terms, k, where))
        cancel.check()
        if not isinstance(found, Ranking):
            return replace(super().search(query, k, cancel), problem=found)
        parts = [found]
        if self._connection.held.lower:
            parts.append(self._below(query, k, cancel))
        return best_of(parts, k)

    def _hashed(self, query: Query) -> TermWeights:
        """The terms that `scores` would sum, with their inverse document frequencies."""
        weighed = []
        for term, (value, _) in self.query_terms.of(query).items():
            count = self.frequency(term)
            if count and value > 0:
                weighed.append((value * lucene_idf_of(count, self._papers), term, count))
        weighed.sort(key=lambda item: (-item[0], item[1]))
        left = MAX_POSTINGS * max(1.0, self._papers / 262_144)
        chosen: dict[int, float] = {}
        for weight, term, count in weighed[:MAX_TERMS]:
            number = term_hash(term)
            chosen[number] = chosen.get(number, 0.0) + weight
            left -= count
            if left < 0:
                break
        hashes = np.array(list(chosen), np.uint32)
        return TermWeights(hashes, np.array(list(chosen.values()), np.float32))

    def _below(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best rows of the libraries below, by the embedded index."""
        scores = self.scores(query, cancel)
        rows = np.zeros(0, np.int64)
        if scores is None:
            return NOTHING
        if self.mask is not None and (allowed := self.mask(query)) is not None:
            scores[~allowed] = 0.0
        for view in self._connection.held.lower:
            own = scores[view.base : view.base + view.count]
            if view.dead is not None:
                own[view.dead] = 0.0
            rows = np.concatenate([rows, view.base + np.flatnonzero(own)])
        return best_of([Ranking(rows, scores[rows])], k)


class BackendDense(OverBackend, DenseRetriever):
    """Dense vectors: the back end walks its graph, and the embedded vectors give exact scores."""

    def __init__(self, embedded: DenseRetriever, connection: Connection) -> None:
        super().__init__(embedded, connection)
        self._lower: DenseRetriever | None = None
        lower = {view.base for view in connection.held.lower}
        segments = [one for one in self._segments if one.base in lower]
        if segments:
            self._lower = copy(embedded)
            self._lower._segments = segments

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows; ties in row order. Empty for a query without a known word."""
        where = self._where(query)
        if where is None:
            return super().search(query, k, cancel)
        vector = self.encoder.encode_queries([query])[0]
        if not vector.any():
            return NOTHING
        cancel.check()
        found = self._found("meanings", where, lambda backend: backend.nearest(vector, k, where))
        cancel.check()
        if not isinstance(found, Ranking):
            return replace(super().search(query, k, cancel), problem=found)
        parts = [Ranking(found.rows, self.exact(vector, found.rows))]
        if self._lower is not None:
            parts.append(self._lower.search(query, k, cancel))
        return best_of(parts, k)


class BackendCitationContext(OverBackend, CitationContextRetriever):
    """Works that others cite: the back end proposes by likeness and popularity, votes are added,
    and the blend is exact."""

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows. Empty for a query without a known word."""
        signals = self._ask(query)
        cancel.check()
        # The back end cannot filter works with votes.
        if not signals.has_words or self._where(query) != ():
            return super().search(query, k, cancel)
        vector = cited_query(signals.full)
        found = self._found("citations", (), lambda one: one.nearest(vector, 2 * k, (), CITED))
        cancel.check()
        if not isinstance(found, Ranking):
            return replace(super().search(query, k, cancel), problem=found)
        papers = np.union1d(self.number_of_row[found.rows], signals.voted())
        papers = papers[papers >= 0]
        place, score = signals.best_of(papers[self._row[papers] >= 0], k)
        known = np.isfinite(score)
        return self._ranking(place[known], score[known])


_OVER_BACKEND: dict[type[Retriever], type[OverBackend]] = {
    Bm25Retriever: BackendBm25,
    DenseRetriever: BackendDense,
    CitationContextRetriever: BackendCitationContext,
}


def over_backend(opening: Opening, embedded: Retriever) -> Retriever:
    """The retriever over the configured back end, with the embedded one as fallback; `embedded`
    itself for works that others cite if the back end lacks their vectors, or if works of a library
    below are cited, too."""
    connection = _connection(opening)
    kind = _OVER_BACKEND[type(embedded)]
    held = connection.held
    if kind is BackendCitationContext and (not held.cited or held.lower):
        return embedded
    return kind(embedded, connection)


def _connection(opening: Opening) -> Connection:
    """The connection shared by all retrievers of an opening."""
    for one in opening.opened.values():
        if isinstance(one, OverBackend):
            return one._connection
    library, options = opening.library, opening.options
    encoder = str(library.manifest.indexes.get("dense", {}).get("weights", ""))
    cited = cited_works(library, encoder)
    fingerprint = "" if cited is None else cited.fingerprint
    held = held_segments(library, words_fingerprint(), encoder, fingerprint)
    # Half of a retriever's time is reserved for the embedded index.
    seconds = options.retrieval.timeout_ms / 2e3
    return Connection(options.library.url, held, seconds)


def best_of(parts: Sequence[Ranking], k: int) -> Ranking:
    """The best `k` rows of disjoint lists; ties in row order."""
    rows = np.concatenate([part.rows for part in parts])
    scores: NDArray[np.float32] = np.concatenate([part.scores for part in parts])
    order = np.lexsort((rows, -scores))[:k]
    return Ranking(rows[order], scores[order])
