"""Learning from use: accepted and dismissed papers are stored, and influence the order of later
lists.

This is the only place that does so, for all front ends. No paper enters or leaves a list. Nothing
is read before the first search, and nothing created before the first event.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import is_among
from citewell.corpus.columns import title_key
from citewell.corpus.priors import coded
from citewell.engine.history_store import BUSY, HistoryStore
from citewell.engine.signals import LibrarySignals
from citewell.model import Evidence, Problem
from citewell.model.feedback import Event, Feedback, Kind, PaperName
from citewell.model.query import Query
from citewell.ranking.contract import Ordering
from citewell.ranking.history import (
    ACCEPTED,
    CITED_BESIDE,
    CITED_HERE,
    CRITICISED_HERE,
    DISMISSED_HERE,
    NOT_YET_CITED,
    CitationHistory,
    Past,
    Prior,
    is_criticism,
    past_of,
    prior,
)
from citewell.retrieval.structure import structured

logger = logging.getLogger(__name__)

NAME = "history"
WORDS = {
    ACCEPTED: "accepted before",
    CITED_HERE: "cited here",
    CITED_BESIDE: "cited in this sentence",
    DISMISSED_HERE: "dismissed here",
    NOT_YET_CITED: "in your bibliography, not cited yet",
    CRITICISED_HERE: "cited before and criticised here",
}
MOST_REFERENCES = 2_000
_TINY = 1e-9
_key_of = lru_cache(maxsize=20_000)(title_key)
"""Keys of titles, cached: those of one paper's references are needed at every search."""


class Remembered(msgspec.Struct, frozen=True):
    """An ordering changed by the history."""

    ordering: Ordering
    before: NDArray[np.int64]
    """0-based former place of each candidate, shape (n,)."""
    prior: Prior

    def evidence(self, at: int) -> tuple[Evidence, ...]:
        """The evidence from the history for the candidate `at` its place in the fused list."""
        reason = WORDS.get(int(self.prior.why[at]))
        if reason is None:
            return ()
        added = float(self.prior.added[at])
        place = int(np.flatnonzero(self.ordering.order == at)[0])
        return (Evidence(NAME, place + 1, added, (reason,), before=int(self.before[at]) + 1),)


class History:
    """Applies the events of a store to searches in one library. Thread-safe."""

    def __init__(self, store: HistoryStore, signals: LibrarySignals | None) -> None:
        """Without `signals` (no library), events are still stored."""
        self._store = store
        self._signals = signals
        self._lock = threading.Lock()
        self._file_version: tuple[int, int] | None = None
        self._events: list[Event] = []
        self._past: tuple[str, Past] | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the store."""
        return self._store.problems

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Store accepted and dismissed papers; return the problems of storing."""
        encoder, vector = self._encoded(structured(feedback.query))
        now = time.time()

        def event(kind: Kind, paper: PaperName) -> Event:
            return Event(
                time=now,
                kind=kind,
                work=paper.id,
                title=paper.title,
                key=title_key(paper.title),
                project=feedback.project,
                through=feedback.through,
                variant=feedback.variant,
                encoder=encoder,
                asked=vector,
            )

        events = [event("dismissed", paper) for paper in feedback.dismissed]
        self._store.add([*events, event("accepted", feedback.accepted)])
        # Read in advance for the next search.
        self._current()
        return self._store.problems

    def reorder(
        self, query: Query, rows: NDArray[np.int64], ordering: Ordering
    ) -> Remembered | None:
        """The ordering of the candidate rows with the history applied; None if it has no effect,
        and if it fails, which is not fatal. Takes less than a millisecond."""
        try:
            return self._reordered(query, rows, ordering)
        except Exception:
            logger.exception("The history cannot be considered")
            return None

    def _reordered(
        self, query: Query, rows: NDArray[np.int64], ordering: Ordering
    ) -> Remembered | None:
        if self._signals is None or not len(ordering.order):
            return None
        past, cited = self._current(), cited_by(query)
        if past is None and cited is None:
            return None
        keys = self._signals.keys(rows)
        if keys is None:
            return None
        vector = None
        if past is None:
            past = past_of((), self._signals.encoder, self._signals.dim)
        elif len(past.keys):
            vector = self._vector(query)
        if vector is None:
            vector = np.zeros(past.query_vectors.shape[1], np.float32)
        typed = bool(query.text.strip())
        found = prior(past, keys, query.paper.project, vector, cited=cited, typed=typed)
        added = found.added
        if not added.any():
            return None
        scores = ordering.scores
        if ordering.calibrate is None:  # a fusion's score is a product of ranks
            scores = np.log(np.maximum(scores, _TINY))
        scores = (scores + added[ordering.order]).astype(np.float32)
        places = np.lexsort((np.arange(len(scores)), -scores))
        confidence = None if ordering.calibrate is None else ordering.calibrate(scores)[places]
        before = np.empty(len(rows), np.int64)
        before[ordering.order] = np.arange(len(rows))
        changed = Ordering(ordering.order[places], scores[places], confidence)
        return Remembered(changed, before, found)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _current(self) -> Past | None:
        """The current events of the store; None if there are none."""
        file_version = self._store.file_version()
        with self._lock:
            encoder = "" if self._signals is None else self._signals.encoder
            if file_version == BUSY:
                pass  # known events still apply; the next search tries again
            elif file_version is None:
                self._file_version, self._events, self._past = None, [], None
            elif (
                file_version != self._file_version or self._past is None or self._past[0] != encoder
            ):
                self._read(file_version)
                dim = 0 if self._signals is None else self._signals.dim
                self._past = (encoder, past_of(self._events, encoder, dim))
            return self._past[1] if self._past is not None and self._events else None

    def _read(self, file_version: tuple[int, int]) -> None:
        """Read new events; after an erasure, all of them."""
        if self._file_version is None or self._file_version[0] != file_version[0]:
            self._events = []
        last = self._events[-1].number if self._events else 0
        self._events = [*self._events, *self._store.read(last)][-self._store.most :]
        last = self._events[-1].number if self._events else 0
        # If the read had to yield to a writer, the next search continues it.
        self._file_version = file_version if last == file_version[1] else (file_version[0], last)

    def _vector(self, query: Query) -> NDArray[np.float32] | None:
        """The query's vector, shape (d,); None without an encoder or a known word."""
        if self._signals is None or not self._signals.encoder:
            return None
        vectors = self._signals.encode([query])
        return None if vectors is None or not vectors.any() else vectors[0]

    def _encoded(self, query: Query) -> tuple[str, bytes]:
        """The encoder and the query's vector in it, for storage; empty without either."""
        vector = self._vector(query)
        if vector is None or self._signals is None:
            return "", b""
        return self._signals.encoder, coded(vector[None])[0].tobytes()


def cited_by(query: Query) -> CitationHistory | None:
    """The citations in the text of the citing paper, and the other entries of its bibliography;
    None if unknown."""
    times_of = {_key_of(title): 0 for title in query.paper.uncited[:MOST_REFERENCES]}
    for one in query.paper.references[:MOST_REFERENCES]:
        if one.times:
            times_of[_key_of(one.title)] = one.times
    if not times_of:
        return None
    keys = np.array(sorted(times_of), np.uint64)
    times = np.array([times_of[key] for key in sorted(times_of)], np.float32)
    criticised = is_criticism(query.sentence)
    return CitationHistory(
        keys,
        times,
        is_among(keys, _keys_of(query.beside)),
        is_among(keys, _keys_of(query.just_before)) if criticised else None,
    )


def _keys_of(titles: Iterable[str]) -> NDArray[np.uint64]:
    return np.array([_key_of(title) for title in titles], np.uint64)
