"""The retriever over the citation priors: papers that others cite in similar passages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, distinct, mapped_arrays
from citewell.corpus.citing import WORDS, CitingPart
from citewell.corpus.columns import LibraryColumns, title_key, title_keys
from citewell.corpus.library import Library
from citewell.corpus.priors import Priors, joined, read_priors
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.retrieval.citation_priors import (
    SIGNALS,
    UNKNOWN,
    CitationPriors,
    PriorSignals,
    QueryVectors,
    derived_arrays,
)
from citewell.retrieval.contract import NOTHING, Mask, Ranking, Retriever
from citewell.retrieval.dense import DenseRetriever
from citewell.retrieval.encoders.citation import WEIGHTS
from citewell.retrieval.opening import Opening
from citewell.retrieval.passages import PassageWords, Profiles, joined_passages, read_passages

PRIORS = WEIGHTS / "priors.npz"
PASSAGES = WEIGHTS / "passages.npz"
BESIDE = "cited with your references"
"""The field of a paper that others cite together with the citing paper's references."""
KEPT_FROM = 20_000
"""Minimum number of works for caching; with fewer the arrays are computed in milliseconds."""
UNUSED_SECONDS = 2 * 86_400.0
"""Seconds after which unused arrays are removed: each change of the library has its own, 30 to 100
bytes a work."""
_REMEMBERED = 4
"""Number of queries with cached signals, 1 MB each: the ranker asks for those that the search just
computed."""


class CitationContextRetriever(Retriever):
    """Ranks the papers with priors by likeness, popularity, passages, topic and co-citation."""

    name = "citation_context"

    def __init__(
        self,
        priors: Priors,
        columns: LibraryColumns,
        dense: DenseRetriever,
        live: NDArray[np.bool_] | None = None,
        *,
        mask: Mask | None = None,
        passages: PassageWords | None = None,
        snapshot: str = "",
    ) -> None:
        """`snapshot` identifies columns, vectors, `live` and the priors that are not shipped: if it
        is given, the derived arrays are cached on disk."""
        self._profiles = None if passages is None else Profiles(passages)
        self._dense = dense
        self._mask = mask
        keys = columns.keys()
        self._key_of_row = keys

        def make() -> Arrays:
            return _library_arrays(priors, columns, dense, live)

        if snapshot and len(keys) >= KEPT_FROM:
            arrays = mapped_arrays(
                "known-1",
                [PRIORS] if PRIORS.exists() else [],
                make,
                facts=snapshot,
                unused=UNUSED_SECONDS,
            )
        else:
            arrays = make()
        self.number_of_row: NDArray[np.int64] = arrays["number_of_row"]
        self._keys, self._order = arrays["keys"], arrays["order"]
        self._row = arrays["row"]
        known = self._row >= 0
        self._citation_priors = CitationPriors(priors, arrays["vectors"], known, arrays)
        self._priors = priors
        self._kept: OrderedDict[Query, PriorSignals] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def popularity(self) -> NDArray[np.float32]:
        """For every row, the logarithm of one more than its known number of citations. Not to be
        changed."""
        known = np.maximum(self._citation_priors.popularity(), 0)
        out = np.zeros(len(self.number_of_row), np.float32)
        has = self.number_of_row >= 0
        out[has] = known[self.number_of_row[has]]
        return out

    def rows_of_titles(self, titles: Sequence[str]) -> NDArray[np.int64]:
        """A live row with each title, -1 if there is none."""
        if not len(self._keys) or not titles:
            return np.full(len(titles), -1, np.int64)
        keys = title_keys(titles)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where((self._keys[at] == keys) & (keys != 0), self._order[at], -1)

    def signals(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Shape (n, len(SIGNALS)): the signals of the priors; UNKNOWN for papers without priors."""
        out = np.full((len(rows), len(SIGNALS)), UNKNOWN, np.float32)
        numbers = self.number_of_row[rows]
        has = numbers >= 0
        if has.any():
            out[has] = self._ask(query).of(numbers[has])
        return out

    def cocited(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Shape (n, 2): how often others cite each row together with the works cited nearby;
        UNKNOWN for papers without priors."""
        out = np.full((len(rows), 2), UNKNOWN, np.float32)
        found = self.rows_of_titles(query.nearby)
        numbers = distinct(self.number_of_row[found[found >= 0]])
        numbers = numbers[numbers >= 0]
        own = self.number_of_row[rows]
        has = own >= 0
        if has.any() and len(numbers):
            out[has] = self._citation_priors.cocited(numbers, _own_key(query))[own[has]]
        return out

    def cocited_with(
        self, found: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Shape (n,): how often others cite each of `rows` together with the rows `found`, as a
        logarithm; 0 for papers without priors."""
        out = np.zeros(len(rows), np.float32)
        numbers = distinct(self.number_of_row[found])
        numbers = numbers[numbers >= 0]
        own = self.number_of_row[rows]
        has = own >= 0
        if has.any() and len(numbers):
            out[has] = self._citation_priors.cocited(numbers, 0)[own[has], 0]
        return out

    def passages(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Shape (n, len(passages.SIGNALS)): the match with the words of others' citations of each
        row."""
        if self._profiles is None:
            return None
        return self._profiles.signals(query, _own_key(query), self._key_of_row[rows])

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows. Empty for a query without a known word."""
        signals = self._ask(query)
        cancel.check()
        if not signals.has_words:
            return NOTHING
        allowed = None if self._mask is None else self._mask(query)
        good = None if allowed is None else (self._row >= 0) & allowed[self._row]
        return self._ranking(*signals.best(k, good))

    def _ranking(self, place: NDArray[np.int64], score: NDArray[np.float32]) -> Ranking:
        rows = self._row[place]
        order = np.lexsort((rows, -score))
        return Ranking(rows[order], score[order].astype(np.float32))

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The strong signals, reported as fields because there are no matching words."""
        number = int(self.number_of_row[row])
        if number < 0:
            return Evidence(self.name, rank, score)
        search = self._ask(query)
        signals = search.of(np.array([number], np.int64))[0].tolist()
        fields = [
            name
            for name, strong in (
                ("cited often", signals[1] > 3.0),
                ("cited in such words", signals[4] > 0.1),
                ("cited on this topic", signals[5] > 0.5),
                (BESIDE, signals[7] > 0.3),
            )
            if strong
        ]
        beside = search.beside(number) if BESIDE in fields else 0
        return Evidence(self.name, rank, score, tuple(fields), beside=beside)

    def _ask(self, query: Query) -> PriorSignals:
        with self._lock:
            found = self._kept.get(query)
        if found is not None:
            return found
        full = self._dense.encoder.encode_queries([query])[0]
        topic = self._dense.encoder.encode_topics([query])[0]
        references = self.rows_of_titles([r.title for r in query.paper.references])
        numbers = distinct(self.number_of_row[references[references >= 0]])
        vectors = QueryVectors(
            full,
            topic if topic.any() else full,
            numbers[numbers >= 0],
            _own_key(query),
        )
        signals = self._citation_priors.ask(vectors)
        with self._lock:
            self._kept[query] = signals
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)
        return signals


def _library_arrays(
    priors: Priors,
    columns: LibraryColumns,
    dense: DenseRetriever,
    live: NDArray[np.bool_] | None,
) -> Arrays:
    """The mapping between rows and papers of the priors, their vectors, and the
    `derived_arrays`."""
    keys = columns.keys()
    order = np.argsort(keys, kind="stable")
    number_of_row = np.empty(len(keys), np.int64)
    # Ascending keys are found in half of the time.
    number_of_row[order] = priors.find(keys[order])
    if live is not None:
        order = order[live[order]]
    # Of several rows with one title, the one with an abstract represents them in searches.
    row = np.full(len(priors), -1, np.int64)
    has = np.flatnonzero(number_of_row >= 0)
    if live is not None:
        has = has[live[has]]
    for wanted in (False, True):
        rows = has[columns.abstracts()[has] == wanted]
        row[number_of_row[rows[::-1]]] = rows[::-1]
    known = row >= 0
    vectors = np.zeros((len(priors), dense.encoder.dim), np.int8)
    vectors[known] = dense.coded(row[known])
    return {
        "keys": keys[order],
        "order": order,
        "number_of_row": number_of_row,
        "row": row,
        "vectors": vectors,
        **derived_arrays(priors, vectors),
    }


def open_citation_context(opening: Opening) -> CitationContextRetriever | None:
    """None without columns, without open vectors, or without priors of their encoder, shipped or of
    the library."""
    columns, dense = opening.columns, opening.retriever("dense", DenseRetriever)
    if columns is None or dense is None:
        return None
    priors = library_priors(opening.library, dense.encoder.fingerprint)
    if priors is None:
        return None
    fitting = _citing(opening.library, dense.encoder.fingerprint)
    files = [one.path / WORDS for one in fitting]
    words = [_shipped_passages()] if PASSAGES.exists() else []
    words += [read_passages(path) for path in files if path.exists()]
    passages = joined_passages(words) if words else None
    return CitationContextRetriever(
        priors,
        columns,
        dense,
        opening.live,
        mask=opening.mask,
        passages=passages,
        snapshot=f"{opening.library.snapshot} {dense.encoder.fingerprint}",
    )


def library_priors(library: Library, encoder: str, least: int = 1) -> Priors | None:
    """The shipped priors and the library's own, of the encoder with this fingerprint; None if they
    cover fewer papers than `least`."""
    parts = [part for part in shipped_priors() if part.encoder == encoder]
    fitting = _citing(library, encoder)
    if sum(map(len, parts)) + sum(one.use.papers for one in fitting) < least:
        return None
    priors = joined([*parts, *(one.priors() for one in fitting)])
    return priors if len(priors) >= least else None


def _citing(library: Library, encoder: str) -> list[CitingPart]:
    return [one for one in library.citing if one.use.papers and one.use.encoder == encoder]


def shipped_priors() -> list[Priors]:
    """The shipped priors. Raises `CitewellError` if they cannot be read."""
    if not PRIORS.exists():
        return []
    try:
        arrays = mapped_arrays("priors-1", [PRIORS], _prior_arrays)
    except OSError:
        return [read_priors(PRIORS)]
    encoder = arrays.pop("encoder").tobytes().decode()
    return [Priors(**arrays, encoder=encoder)]


def _prior_arrays() -> Arrays:
    priors = read_priors(PRIORS)
    arrays = msgspec.structs.asdict(priors)
    return arrays | {"encoder": np.frombuffer(priors.encoder.encode(), np.uint8)}


def _shipped_passages() -> PassageWords:
    """The shipped words of citing passages. Raises `CitewellError` if they cannot be read."""
    try:
        arrays = mapped_arrays(
            "passages-1", [PASSAGES], lambda: msgspec.structs.asdict(read_passages(PASSAGES))
        )
    except OSError:
        return read_passages(PASSAGES)
    return PassageWords(**arrays)


def _own_key(query: Query) -> int:
    """Key of the paper being written: its own citations are no evidence."""
    return title_key(query.paper.title) if len(query.paper.title) > 12 else query.paper.key
