"""Data of the library and the retrievers for a ranker."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import Aliases
from citewell.corpus.columns import Columns, word_hash
from citewell.corpus.library import Library
from citewell.engine.contract import Authority, SuggestedWork
from citewell.engine.retrievers import Opened
from citewell.model import Query, Work
from citewell.model.query import CitingPaper
from citewell.retrieval.attributes import authors_named
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.dense import DenseRetriever


class LibrarySignals:
    """`ranking.contract.Signals` over an open library."""

    def __init__(self, library: Library, opened: Opened) -> None:
        self._library = library
        self._cited = opened.of(CitationContextRetriever)
        self._bm25 = opened.of(Bm25Retriever)
        self._dense = opened.of(DenseRetriever)
        self._columns = opened.columns
        self._aliases = opened.aliases
        self._keys: NDArray[np.uint64] | None = None
        self._title_words: tuple[NDArray[np.uint32], NDArray[np.int64], int] | None = None
        self._encoded: tuple[object, tuple[Query, ...], NDArray[np.float32]] | None = None

    def works(self, rows: NDArray[np.int64]) -> list[Work]:
        """The records, in order."""
        return self._library.works(rows)

    @property
    def years(self) -> NDArray[np.int16]:
        """Year of each row of the library, 0 if unknown."""
        return self._library.columns().year

    @property
    def citations(self) -> NDArray[np.int32]:
        """Citation count of each row of the library, -1 if unknown."""
        return self._library.columns().citations

    def cited(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Number of citations of some rows, from the record or the citation priors."""
        own = np.maximum(self.citations[rows], 0).astype(np.float64)
        if self._cited is None:
            return own
        return np.maximum(own, np.expm1(self._cited.popularity[rows].astype(np.float64)))

    def cited_rows(self) -> NDArray[np.float64]:
        """`cited` for every row of the library."""
        return self.cited(np.arange(self._library.rows))

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each id, -1 if there is none."""
        return self._library.rows_of(ids)

    def citations_of(self, ids: Sequence[str]) -> list[int]:
        """Number of citations of each work, in order; 0 if unknown."""
        rows = self.rows_of(ids)
        cited = np.zeros(len(ids))
        cited[rows >= 0] = self.cited(rows[rows >= 0])
        return [round(float(count)) for count in cited]

    def suggested(self, paper: CitingPaper, k: int) -> list[SuggestedWork]:
        """Works that others cite together with the references of a paper, best first."""
        found = [] if self._cited is None else self._cited.suggested(paper, k)
        works = self._library.works([row for row, _, _ in found])
        return [
            SuggestedWork(work, beside, papers)
            for work, (_, beside, papers) in zip(works, found, strict=True)
        ]

    def expected(self, name: str) -> Work | None:
        """The work that a paper is expected to cite where it writes a name; None where the name has
        no such work, or the library lacks it."""
        known = [one for one, _ in self._aliases.shares(name)[:1] if one.is_expected]
        if not known or self._columns is None:
            return None
        if self._keys is None:
            self._keys = self._columns.keys()
        rows = np.flatnonzero(self._keys == np.uint64(known[0].key))
        return self._library.works(rows[:1].tolist())[0] if len(rows) else None

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The papers' dense vectors, shape (n, d)."""
        dense = self._dense
        return None if dense is None else dense.vectors(rows)

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32] | None:
        """Dense vectors of queries. The last ones are cached: in a search the history needs those
        of the ranker."""
        dense = self._dense
        if dense is None:
            return None
        last = self._encoded
        if len(queries) == 1 and last is not None and last[0] is dense.encoder:
            for number, known in enumerate(last[1]):
                if known == queries[0]:
                    return last[2][number : number + 1]
        vectors = dense.encoder.encode_queries(queries)
        self._encoded = (dense.encoder, tuple(queries), vectors)
        return vectors

    def encode_topic(self, query: Query) -> NDArray[np.float32] | None:
        """Vector of the citing paper as a work, shape (d,)."""
        return None if self._dense is None else self._dense.encoder.encode_topics([query])[0]

    def bm25(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """BM25 score of each row for the query."""
        bm25 = self._bm25
        return None if bm25 is None else bm25.score_rows(query, rows)

    @property
    def encoder(self) -> str:
        """Fingerprint of the encoder of the vectors; empty without one."""
        return "" if self._dense is None else self._dense.encoder.fingerprint

    @property
    def dim(self) -> int:
        """Length of the vectors; 0 without an encoder."""
        return 0 if self._dense is None else self._dense.encoder.dim

    def facts(self, rows: NDArray[np.int64]) -> Columns | None:
        """The rows' columns, if the library has them."""
        return None if self._columns is None else self._columns.take(rows)

    def keys(self, rows: NDArray[np.int64]) -> NDArray[np.uint64] | None:
        """Title keys of the rows, if the library has columns."""
        if self._columns is None:
            return None
        if self._keys is None:
            self._keys = self._columns.keys()
        return self._keys[rows]

    def title_words(self) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
        """Title words as sorted hashes, the number of titles with each, and that of all titles."""
        if self._columns is None:
            return np.zeros(0, np.uint32), np.zeros(0, np.int64), 0
        if self._title_words is None:
            self._title_words = (*self._columns.word_counts(), len(self._library))
        return self._title_words

    def title_counts(self, hashes: Sequence[int]) -> NDArray[np.int64]:
        """Number of titles with each word, by the words' hashes."""
        known, counts, _ = self.title_words()
        wanted = np.array(hashes, np.uint32)
        if not len(known):
            return np.zeros(len(wanted), np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[at] == wanted, counts[at], 0)

    def title_shares(self, words: Sequence[str]) -> list[float] | None:
        """Share of the library's titles with each word; None without columns."""
        known, _, papers = self.title_words()
        if not len(known) or not papers:
            return None
        counts = self.title_counts([word_hash(word) for word in words])
        return [float(count) / papers for count in counts]

    def aliases(self) -> Aliases:
        """Names that others use for papers."""
        return self._aliases

    def citation_priors(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The signals of the citation priors for each row."""
        return None if self._cited is None else self._cited.signals(query, rows)

    def cocited(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """How often others cite each row together with works cited nearby."""
        return None if self._cited is None else self._cited.cocited(query, rows)

    def cocited_with(
        self, found: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float32] | None:
        """How often others cite each of `rows` together with the rows `found`."""
        return None if self._cited is None else self._cited.cocited_with(found, rows)

    def coverage(self, text: str, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Share of the text's words in title or abstract of each row."""
        found = None if self._bm25 is None else self._bm25.coverage(text, self._library.rows)
        return None if found is None else found[rows]

    def passages(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """How well the words around the place match those of each row's citations."""
        return None if self._cited is None else self._cited.passages(query, rows)

    def rows_of_titles(self, titles: Sequence[str]) -> NDArray[np.int64]:
        """A row with each title, -1 if there is none."""
        if self._cited is None:
            return np.full(len(titles), -1, np.int64)
        return self._cited.rows_of_titles(titles)


# Citations of works, of their venues and of their authors.

LEAST_WORKS = 5
"""Minimum number of works of a venue with a rank."""
MOST_AUTHORS = 10_000
"""Maximum number of authors with citations in memory."""


class LibraryAuthority:
    """The citations in one library. Thread-safe."""

    def __init__(self, library: Library, opened: Opened, signals: LibrarySignals) -> None:
        self._library, self._filters, self._signals = library, opened.filters, signals
        self._columns = opened.columns
        self._authors: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, ids: Sequence[str]) -> list[Authority]:
        """The authority of each work, in order; nothing is known of one outside the library."""
        rows = self._signals.rows_of(ids)
        found = [Authority() for _ in ids]
        at = np.flatnonzero(rows >= 0)
        with self._lock:
            works = self._library.works(rows[at])
            for place, row, work in zip(at.tolist(), rows[at].tolist(), works, strict=True):
                rank = float(self._venue_ranks[row])
                found[place] = Authority(
                    citations=round(float(self._cited[row])),
                    venue=None if np.isnan(rank) else rank,
                    authors=max(map(self._of_author, _names(work)), default=0),
                )
        return found

    @cached_property
    def _cited(self) -> NDArray[np.float64]:
        return self._signals.cited_rows()

    @cached_property
    def _venue_ranks(self) -> NDArray[np.float32]:
        """For each row the share of venues with fewer citations a year and work than its own; NaN
        for a venue of few works."""
        ranks = np.full(len(self._cited), np.nan, np.float32)
        if self._columns is None:
            return ranks
        venue = np.concatenate([np.asarray(part.venue) for _, part in self._columns.parts()])
        years = self._signals.years.astype(np.int64)
        rate = self._cited / np.maximum(1, datetime.date.today().year - years + 1)
        names, of, works = np.unique(venue, return_inverse=True, return_counts=True)
        mean = np.bincount(of, np.where(years > 0, rate, 0.0)) / works
        ranked = np.flatnonzero((works >= LEAST_WORKS) & (names != 0))
        rank = np.full(len(names), np.nan, np.float32)
        places = np.searchsorted(np.sort(mean[ranked]), mean[ranked])
        rank[ranked] = places / max(1, len(ranked) - 1)
        ranks[:] = rank[of]
        return ranks

    def _of_author(self, name: str) -> int:
        """Number of citations of all works of an author of this name."""
        if name not in self._authors and self._filters is not None:
            if len(self._authors) >= MOST_AUTHORS:
                self._authors.clear()
            rows = self._filters.meeting(authors_named(name))
            self._authors[name] = round(float(self._cited[rows].sum()))
        return self._authors.get(name, 0)


def _names(work: Work) -> list[str]:
    """The first and the last author: looking up all takes too long."""
    ends = dict.fromkeys((*work.authors[:1], *work.authors[-1:]))
    return [author.display for author in ends]
