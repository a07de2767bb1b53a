"""BM25 search over all segments of a library as if they were one index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.layout import SegmentView
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.model.languages import STOPWORDS
from citewell.retrieval.bm25_build import FIELD_NAMES, TITLE, lucene_idf_of
from citewell.retrieval.bm25_segment import BM25, Bm25Segment, IndexSegment, open_segment
from citewell.retrieval.contract import NOTHING, Mask, Ranking, Retriever
from citewell.retrieval.select import BestRows, top
from citewell.retrieval.understand import Weights, wanted
from citewell.retrieval.words import split

# Summation of the scores of a large library part by part.
#
# An array with a score for every row is 40 MB for ten million papers: it would be cleared, copied
# and searched for each query, and exceed the processor's caches.

ROWS = 1 << 20
"""Rows of a part: its scores take 4 MB."""

WeightedColumn = tuple[int, np.float32]
"""A term's column in a segment, at least 0, and its weight."""


def best_of_parts(
    segments: Sequence[IndexSegment],
    columns: Sequence[Sequence[WeightedColumn]],
    k: int,
    allowed: NDArray[np.bool_] | None,
    cancel: Cancel,
    *,
    rows: int = ROWS,
) -> Ranking:
    """The `k` rows with the greatest sums above 0; ties in row order.

    `columns` holds the terms of each segment, which are added in order. `allowed` is a mask of the
    rows of the library that may be found.
    """
    best = BestRows(k, above=0.0)
    for segment, own in zip(segments, columns, strict=True):
        if not own:
            continue
        # The postings of a compact segment are decoded one list at a time.
        size = rows if isinstance(segment, Bm25Segment) else segment.count
        for begin, scores in _parts(segment, own, size, cancel):
            end = begin + len(scores)
            if segment.dead is not None:
                scores[segment.dead[begin:end]] = 0.0
            if allowed is not None:
                scores[~allowed[segment.base + begin : segment.base + end]] = 0.0
            best.add(segment.base + begin, scores)
    return Ranking(*best.best())


def _parts(
    segment: IndexSegment, columns: Sequence[WeightedColumn], rows: int, cancel: Cancel
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The first row of each part and the scores of its rows, which the next part overwrites."""
    begins = range(0, segment.count, max(1, rows))
    lists = [segment.postings(column) for column, _ in columns]
    if len(begins) > 1:
        edges = np.array([*begins, segment.count], np.int32)
        bounds = [at.start + np.searchsorted(segment.rows[at], edges) for at in lists]
    else:
        bounds = [np.array([at.start, at.stop]) for at in lists]
    scratch = np.empty(min(rows, segment.count), np.float32)
    for number, begin in enumerate(begins):
        scores = scratch[: min(rows, segment.count - begin)]
        scores[:] = 0.0
        for bound, (_, weight) in zip(bounds, columns, strict=True):
            cancel.check()
            at = slice(int(bound[number]), int(bound[number + 1]))
            if at.start < at.stop:
                papers = segment.rows[at]
                np.add.at(scores, papers - begin if begin else papers, segment.data[at] * weight)
        yield begin, scores


# Term scores of some rows only, without those of all others.


class RowScores:
    """The scores of each term for some rows. They are computed once: a ranker asks for the scores
    of a query and of its parts."""

    def __init__(self, segments: Sequence[IndexSegment], rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self._parts = [SegmentRows(segment, rows) for segment in segments]
        self._known: list[dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]]] = [
            {} for _ in segments
        ]

    def add(
        self, columns: Sequence[int], weights: Sequence[np.float32], out: NDArray[np.float32]
    ) -> None:
        """Add a term's scores to those of the rows, shape (n,). Column and weight are those in each
        segment; the column is -1 if a segment lacks the term."""
        for part, known, column, weight in zip(
            self._parts, self._known, columns, weights, strict=True
        ):
            if column < 0 or not len(part):
                continue
            found = known.get(column)
            if found is None:
                places, at, slots = part.find(column)
                found = known[column] = places, part.segment.data[at][slots]
            out[found[0]] += found[1] * weight


class SegmentRows:
    """The rows of one segment among some rows."""

    def __init__(self, segment: IndexSegment, rows: NDArray[np.int64]) -> None:
        self.segment = segment
        place = np.flatnonzero((rows >= segment.base) & (rows < segment.base + segment.count))
        self._place = place[np.argsort(rows[place])]  # the search is fastest for ascending rows
        self._own = (rows[self._place] - segment.base).astype(np.int32)

    def __len__(self) -> int:
        return len(self._own)

    def find(self, column: int) -> tuple[NDArray[np.int64], slice, NDArray[np.int64]]:
        """Indices of the rows with a term, its postings, and the slots of these rows among them."""
        at = self.segment.postings(column)
        papers = self.segment.rows[at]
        slot = np.searchsorted(papers, self._own)
        slot[slot == len(papers)] = 0
        hit = np.flatnonzero(papers[slot] == self._own)
        return self._place[hit], at, slot[hit]


# The terms of a query in the BM25 index: stemmed words, names, years and title names.

_KNOWN_STEMS = 8192
"""Number of words with cached stems, about 1 MB."""


class QueryTerms:
    """Parses queries with some weights. Thread-safe."""

    def __init__(self, weights: Weights | None) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer
        self._stems: dict[str, bytes] = {}
        self._weights = weights

    def stem(self, word: str) -> bytes:
        """The term of a word."""
        stem = self._stems.get(word)
        if stem is None:
            # A stemmer is not thread-safe.
            stem = self._stemmer("english").stemWord(word).encode()
            if len(self._stems) >= _KNOWN_STEMS:
                self._stems.clear()
            self._stems[word] = stem
        return stem

    def of(self, query: Query) -> dict[bytes, tuple[float, str]]:
        """The weight of each term, known to the index or not, and its word as written."""
        sought = wanted(query, self._weights)
        weight: dict[bytes, float] = {}
        surface: dict[bytes, str] = {}
        for word, value in sought.words.items():
            term = self.stem(word)
            weight[term] = weight.get(term, 0.0) + value
            surface.setdefault(term, word)
        for prefix, values in (
            (b"a:", sought.names),
            (b"n:", sought.acronyms),
            (b"y:", {str(year): value for year, value in sought.years.items()}),
        ):
            for name, value in values.items():
                weight[prefix + name.encode()] = value
                surface[prefix + name.encode()] = name
        return {term: (value, surface[term]) for term, value in weight.items()}


MAX_TERMS = 64
"""Maximum number of terms searched, strongest first; a pasted page must not cost a second."""
MAX_POSTINGS = 1_500_000
"""Maximum number of score entries summed for a query per 262,144 papers, strongest terms first."""

EXPLAINED = 24
"""Number of strongest terms that explain a hit: explaining twenty hits must not cost more than
finding them."""

_KNOWN_TERMS = 8192
"""Number of terms with cached columns, about 1 MB."""
_KNOWN_CONTEXTS = 4
"""Number of contexts with cached scores, 4 bytes a row."""
_Term = tuple[str, tuple[int, ...], list[np.float32]]
"""A term as written in the query, and its column and weight in each segment."""


class Bm25Retriever(Retriever):
    """BM25 with a weight per query term; words, surnames, years and title names are terms.

    Inverse document frequencies cover all segments, so that the answer does not depend on how the
    library grew.
    """

    name = BM25

    def __init__(
        self,
        segments: Sequence[SegmentView],
        *,
        weights: Weights | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._segments = [open_segment(view) for view in segments]
        self._papers = sum(segment.count for segment in self._segments)
        self._end = max((s.base + s.count for s in self._segments), default=0)
        self.query_terms = QueryTerms(weights)
        self.mask = mask
        self._remembered: dict[Query, list[_Term]] = {}
        self._columns: dict[bytes, tuple[int, ...]] = {}
        """Columns of the terms of earlier queries: a growing sentence repeats most words."""
        self._scored: tuple[Query, NDArray[np.float32]] | None = None
        """The last query with all its terms summed, and the score of every row."""
        self._contexts: OrderedDict[tuple[object, ...], NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        self._row_scores: RowScores | None = None

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows; ties in row order."""
        allowed = None if self.mask is None else self.mask(query)
        if self._end > ROWS:
            context, typed = self._apart(query, self._affordable(query))
            columns = [
                [(own[at], weight[at]) for _, own, weight in (*context, *typed) if own[at] >= 0]
                for at in range(len(self._segments))
            ]
            return best_of_parts(self._segments, columns, k, allowed, cancel)
        scores = self.scores(query, cancel)
        if scores is None:
            return NOTHING
        dead = [segment for segment in self._segments if segment.dead is not None]
        if len(self._affordable(query)) == len(self._terms(query)):
            self._scored = query, scores
            scores = scores.copy() if dead or allowed is not None else scores
        if allowed is not None:
            scores[~allowed] = 0.0
        for segment in dead:
            scores[segment.base : segment.base + segment.count][segment.dead] = 0.0
        cancel.check()
        rows = top(scores, k, above=0.0)
        return Ranking(rows, scores[rows])

    def scores(self, query: Query, cancel: Cancel) -> NDArray[np.float32] | None:
        """Score of every row, shape (rows,); None when no term is known."""
        terms = self._affordable(query)
        if not terms:
            return None
        context, typed = self._apart(query, terms)
        if typed:
            scores = self._context_scores(context, cancel)
            self._add(typed, scores, cancel)
        else:
            scores = np.zeros(self._end, np.float32)
            self._add(context, scores, cancel)
        return scores

    def _apart(
        self, query: Query, terms: Sequence[_Term]
    ) -> tuple[Sequence[_Term], Sequence[_Term]]:
        """The terms of the context alone, and the typed ones, in the order of summation: the scores
        of the context then stay the same for other typed words."""
        if not query.text:
            return terms, ()
        named = {columns for _, columns, _ in self._terms(Query(text=query.text))}
        context = [term for term in terms if term[1] not in named]
        return context, [term for term in terms if term[1] in named]

    def _context_scores(self, terms: Sequence[_Term], cancel: Cancel) -> NDArray[np.float32]:
        """The scores of these terms for every row. The last ones are cached: while an author types,
        the words around the citation stay the same, except those that are also typed."""
        key = tuple((columns, *map(float, weights)) for _, columns, weights in terms)
        with self._lock:
            known = self._contexts.get(key)
            if known is not None:
                self._contexts.move_to_end(key)
        if known is not None:
            return known.copy()
        scores = np.zeros(self._end, np.float32)
        self._add(terms, scores, cancel)
        if terms:
            with self._lock:
                self._contexts[key] = scores.copy()
                while len(self._contexts) > _KNOWN_CONTEXTS:
                    self._contexts.popitem(last=False)
        return scores

    def _add(self, terms: Sequence[_Term], scores: NDArray[np.float32], cancel: Cancel) -> None:
        for _, columns, weights in terms:
            cancel.check()
            for segment, column, weight in zip(self._segments, columns, weights, strict=True):
                if column >= 0:
                    at = segment.postings(column)
                    part = scores[segment.base : segment.base + segment.count]
                    np.add.at(part, segment.rows[at], segment.data[at] * weight)

    def _affordable(self, query: Query) -> list[_Term]:
        """The strongest terms of the query that `MAX_POSTINGS` allows."""
        left = MAX_POSTINGS * max(1.0, self._papers / 262_144)
        terms = self._terms(query)
        for number, (_, columns, _) in enumerate(terms, 1):
            found = zip(self._segments, columns, strict=True)
            left -= sum(segment.frequency(column) for segment, column in found if column >= 0)
            if left < 0:
                return terms[:number]
        return terms

    def score_rows(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Scores of some rows only, shape (len(rows),): by a binary search per term and row, unless
        the query was searched last, or its terms were scored for the same array."""
        last = self._scored
        if last is not None and last[0] == query:
            return last[1][rows]
        known = self._row_scores
        if known is None or known.rows is not rows:
            known = self._row_scores = RowScores(self._segments, rows)
        out = np.zeros(len(rows), np.float32)
        for _, columns, weights in self._terms(query):
            known.add(columns, weights, out)
        return out

    def holding(self, term: bytes, rows: int) -> NDArray[np.bool_]:
        """Mask of the rows with the term, such as b"a:vaswani", shape (rows,)."""
        found = np.zeros(rows, np.bool_)
        for segment in self._segments:
            if (column := segment.column(term)) >= 0:
                found[segment.base + segment.rows[segment.postings(column)]] = True
        return found

    def rows_of(self, term: bytes) -> NDArray[np.int64]:
        """The rows with the term, such as b"a:vaswani", ascending; dead ones included."""
        found = [
            segment.base + segment.rows[segment.postings(column)].astype(np.int64)
            for segment in self._segments
            if (column := segment.column(term)) >= 0
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def frequency(self, term: bytes) -> int:
        """Number of papers with the term, such as b"a:vaswani", dead ones included."""
        columns = zip(self._segments, self._columns_of(term), strict=True)
        return sum(segment.frequency(column) for segment, column in columns if column >= 0)

    def holding_all(self, text: str, rows: int) -> NDArray[np.bool_]:
        """Mask of the rows with every word of the text in title or abstract, shape (rows,); empty
        if no word is known to the index."""
        found: NDArray[np.bool_] | None = None
        for term, _ in self.topic_terms(text):
            own = self.holding(term, rows)
            found = own if found is None else found & own
        return np.zeros(rows, np.bool_) if found is None else found

    def coverage(self, text: str, rows: int) -> NDArray[np.float32] | None:
        """Share of the text's words in title or abstract of each row, weighted by rarity, shape
        (rows,); None if the index knows none of them."""
        terms = self.topic_terms(text)
        total = sum(idf for _, idf in terms)
        if not total:
            return None
        out = np.zeros(rows, np.float32)
        for term, idf in terms:
            for segment in self._segments:
                if (column := segment.column(term)) >= 0:
                    own = segment.base + segment.rows[segment.postings(column)]
                    out[own] += np.float32(idf / total)
        return out

    def titled(self, word: str, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask of the given rows with the word in the title, shape (len(rows),)."""
        found = np.zeros(len(rows), np.bool_)
        for term, _ in self.topic_terms(word):
            for segment in self._segments:
                if (column := segment.column(term)) < 0:
                    continue
                at = segment.postings(column)
                own = segment.rows[at][(segment.fields[at] & TITLE) != 0]
                found |= np.isin(rows, segment.base + own)
        return found

    def topic_terms(self, text: str) -> list[tuple[bytes, float]]:
        """The distinct words of a text known to the index, stemmed, with their inverse document
        frequencies."""
        words = (word for word in split(text) if len(word) > 1 and word not in STOPWORDS)
        terms = dict.fromkeys(self.query_terms.stem(word.decode()) for word in words)
        counts = {term: self.frequency(term) for term in list(terms)[:MAX_TERMS]}
        return [(term, lucene_idf_of(n, self._papers)) for term, n in counts.items() if n]

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The words, as written in the query, that contributed to this row's score."""
        return self.explain_all(query, [row], [rank], [score])[0]

    def explain_all(
        self, query: Query, rows: Sequence[int], ranks: Sequence[int], scores: Sequence[float]
    ) -> list[Evidence]:
        """The explanations of several rows: each term is looked up in all of them at once."""
        gains: list[list[tuple[float, str, int]]] = [[] for _ in rows]
        terms = self._terms(query)[:EXPLAINED]
        for number, segment in enumerate(self._segments):
            own = SegmentRows(segment, np.array(rows, np.int64))
            if not len(own):
                continue
            for surface, columns, weights in terms:
                if columns[number] < 0:
                    continue
                places, at, slots = own.find(columns[number])
                if not len(places):
                    continue
                given = (segment.data[at][slots] * weights[number]).tolist()
                fields = segment.fields_of(at, slots).tolist()
                for place, gain, field in zip(places.tolist(), given, fields, strict=True):
                    gains[place].append((-gain, surface, field))
        return [
            Evidence(self.name, rank, score, *_fields_and_words(sorted(found)))
            for rank, score, found in zip(ranks, scores, gains, strict=True)
        ]

    def _terms(self, query: Query) -> list[_Term]:
        """The query's terms; those of the last few queries are cached, since each hit is
        explained."""
        terms = self._remembered.get(query)
        if terms is None:
            terms = self._resolve(query)
            if len(self._remembered) >= 16:
                self._remembered.clear()
            self._remembered[query] = terms
        return terms

    def _columns_of(self, term: bytes) -> tuple[int, ...]:
        """The term's column in each segment, -1 if it is missing."""
        columns = self._columns.get(term)
        if columns is None:
            columns = tuple(segment.column(term) for segment in self._segments)
            if len(self._columns) >= _KNOWN_TERMS:
                self._columns.clear()
            self._columns[term] = columns
        return columns

    def _resolve(self, query: Query) -> list[_Term]:
        """The strongest terms: as written, with column and weight per segment, strongest first."""
        resolved: list[tuple[float, str, tuple[int, ...], list[np.float32]]] = []
        for term, (value, surface) in self.query_terms.of(query).items():
            columns = self._columns_of(term)
            counts = [
                0 if column < 0 else segment.frequency(column)
                for segment, column in zip(self._segments, columns, strict=True)
            ]
            if not any(counts) or value <= 0:
                continue
            idf = lucene_idf_of(sum(counts), self._papers)
            # Each segment's scores contain its own idf; the ratio converts them to the library's.
            shares = [
                np.float32(value * idf / lucene_idf_of(count, segment.count))
                if count
                else np.float32(0)
                for segment, count in zip(self._segments, counts, strict=True)
            ]
            resolved.append((value * idf, surface, columns, shares))
        resolved.sort(key=lambda item: (-item[0], item[1]))
        return [(name, columns, shares) for _, name, columns, shares in resolved[:MAX_TERMS]]


def _fields_and_words(
    gains: Sequence[tuple[float, str, int]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields and the words of terms, the strongest first."""
    bits = 0
    for _, _, field in gains:
        bits |= field
    fields = dict.fromkeys(name for bit, name in FIELD_NAMES.items() if bits & bit)
    words = dict.fromkeys(word for _, word, _ in gains)
    return tuple(fields), tuple(words)[:12]
