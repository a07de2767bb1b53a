"""The cross-encoder at work: loaded on a thread, given a limited time, and never in the way.

What goes wrong with it is a problem in the result, and the list stands as it was.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from citewell.engine.threads import BackgroundLoad, Runner
from citewell.model import Evidence, Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.options.tree import RetrievalOptions
from citewell.ranking.citation_cross_encoder import CitationCrossEncoder, is_place
from citewell.ranking.contract import Ordering
from citewell.ranking.cross_encoder import NAME, Moved, PairModel, rerank
from citewell.ranking.pair_models import is_own, load_cross_encoder
from citewell.ranking.shipped_cross_encoder import SHIPPED

CLOSING_SECONDS = 10.0


class CrossEncoderAnswer(msgspec.Struct, frozen=True):
    """An ordering after the stage, or the one before it with the reason."""

    ordering: Ordering
    moved: tuple[Moved, ...] = ()
    """By place in the ordering; empty when the stage did not answer."""
    problem: Problem | None = None
    milliseconds: float = 0.0
    name: str = NAME
    """Of the stage."""
    made_by: str = ""
    """What made the order, as the variant names it: "rank@builtin"."""

    def evidence(self, place: int) -> tuple[Evidence, ...]:
        """The evidence of the stage for the paper at this place; None below the head."""
        if place >= len(self.moved):
            return ()
        moved = self.moved[place]
        return (Evidence(self.name, moved.rank, moved.score, before=moved.before),)

    def evidence_of(self, candidate: int) -> tuple[Evidence, ...]:
        """The evidence of the stage for a candidate, wherever later stages put it."""
        if not self.moved:
            return ()
        places = np.flatnonzero(self.ordering.order[: len(self.moved)] == candidate)
        return self.evidence(int(places[0])) if len(places) else ()


class CrossEncoderStage:
    """Begins to load a model that the author names when it is made, and the one that ships when it
    is first asked: who only completes never pays for it."""

    def __init__(
        self,
        options: RetrievalOptions,
        load: Callable[[str], PairModel | CitationCrossEncoder] = load_cross_encoder,
    ) -> None:
        self._name = options.cross_encoder
        self._seconds = options.cross_encoder_ms / 1e3
        self.papers = options.cross_encoder_depth
        """How many of the first papers it reads."""
        self.is_own = is_own(self._name)
        """Whether its score is added to the ranker's, instead of being an order of its own."""
        self._runner = Runner()
        self._reading = 0
        self._idle = threading.Condition()
        name = self._name
        self._model = BackgroundLoad("reranker", partial(load, name), partial(_missing, name))
        if self._name != SHIPPED:
            self._model.begin()

    @property
    def loaded(self) -> str:
        """The model's name once it is loaded, else empty."""
        return self._name if self._model.value is not None else ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why it could not be loaded, once that is known."""
        problem = self._model.problem
        return () if problem is None else (problem,)

    def reads(self, query: Query, ordering: Ordering) -> bool:
        """Whether it has something to say of a query in this ordering."""
        return not self.is_own or (is_place(query) and ordering.calibrate is not None)

    def wait(self, seconds: float) -> None:
        """Until it is loaded, or could not be, or so long; at once if nothing is being loaded."""
        self._model.wait(seconds)

    def close(self) -> None:
        """Let what is being read come to its next stop: the end of a process that is inside of a
        model's native code is a crash."""
        if self._name == SHIPPED:
            self.wait(CLOSING_SECONDS)
        with self._idle:
            self._idle.wait_for(lambda: not self._reading, CLOSING_SECONDS)

    def reorder(
        self, query: Query, ordering: Ordering, head: Sequence[Work], cancel: Cancel
    ) -> CrossEncoderAnswer:
        """The ordering with its head, whose records are given, in the model's order.

        Raises `Cancelled` alone; a model that is late or broken leaves the ordering.
        """
        if len(head) < 2:
            return CrossEncoderAnswer(ordering)
        begin = time.perf_counter()
        seconds = min(self._seconds, cancel.remaining)
        answers, problems, _ = self._runner.run(
            {NAME: lambda own: self._read(query, ordering, head, own)}, seconds, cancel
        )
        spent = (time.perf_counter() - begin) * 1e3
        if NAME not in answers:
            return CrossEncoderAnswer(ordering, (), self._why(problems, seconds), spent)
        reordered, moved = answers[NAME]
        return CrossEncoderAnswer(reordered, tuple(moved), None, spent, NAME, self._name)

    def _read(
        self, query: Query, ordering: Ordering, head: Sequence[Work], cancel: Cancel
    ) -> tuple[Ordering, list[Moved]]:
        model = self._model.get(cancel)
        with self._idle:
            self._reading += 1
        try:
            if isinstance(model, CitationCrossEncoder):
                return model.rerank(query, ordering, head, cancel)
            return rerank(query, ordering, head, model, cancel)
        finally:
            with self._idle:
                self._reading -= 1
                self._idle.notify_all()

    def _why(self, problems: Sequence[Problem], seconds: float) -> Problem | None:
        """The runner's first problem, reworded: the runner's messages are about retrievers. None
        where the model that ships is late: the author did not ask for it."""
        first = problems[0]
        if first.code == "retriever-late":
            if self._name == SHIPPED:
                return None
            state = "did not answer" if self._model.is_done else "was not loaded"
            return Problem(
                "reranker-late",
                f"The cross-encoder {self._name!r} {state} within {seconds * 1e3:.0f} ms.",
                "The list is not reranked; raise `retrieval.cross_encoder_ms`, lower "
                "`retrieval.cross_encoder_depth`, or choose a smaller model.",
            )
        if first.code == "retriever-failed":
            return Problem(
                "reranker-failed",
                first.message.replace(
                    f"The retriever {NAME!r}", f"The cross-encoder {self._name!r}"
                ),
                "The list is not reranked.",
            )
        return first


def _missing(name: str, error: Exception) -> Problem:
    return Problem(
        "reranker-missing",
        f"The cross-encoder {name!r} cannot be used ({type(error).__name__}: {error}).",
        "Searches continue without it.",
    )
