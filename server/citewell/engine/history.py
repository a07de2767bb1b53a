"""Learning from use: what authors accepted and dismissed, kept when they do.

Lazy: nothing is read before the first search, and nothing is made before the first event.
"""

from __future__ import annotations

import threading
import time

from citewell.corpus.columns import title_key
from citewell.corpus.priors import coded
from citewell.engine.history_store import HistoryStore
from citewell.model import Problem
from citewell.model.feedback import Event, Feedback, Kind, PaperName
from citewell.model.query import Query, near_part
from citewell.ranking.contract import Signals


class History:
    """What the events of a store mean for searches in one library. Safe across threads."""

    def __init__(self, store: HistoryStore, signals: Signals | None) -> None:
        """Without `signals` (no library) events are kept all the same."""
        self._store = store
        self._signals = signals
        self._lock = threading.Lock()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the store."""
        return self._store.problems

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Keep what an author accepted and dismissed; why it could not be kept."""
        encoder, asked = self._encoded(feedback.query)
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
                asked=asked,
            )

        events = [event("dismissed", paper) for paper in feedback.dismissed]
        kept = self._store.add([*events, event("accepted", feedback.accepted)])
        return () if kept else self._store.problems

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _encoded(self, query: Query) -> tuple[str, bytes]:
        """The encoder and the query's vector in it, as kept; empty without either."""
        asked = near_part(query)
        if self._signals is None or asked == Query() or not self._signals.encoder:
            return "", b""
        vectors = self._signals.encode([asked])
        if vectors is None or not vectors.any():
            return "", b""
        return self._signals.encoder, coded(vectors)[0].tobytes()
