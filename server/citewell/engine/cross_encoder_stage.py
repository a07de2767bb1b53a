"""The cross-encoder stage: loaded on a thread, with a time limit, without blocking searches.

A failure is a problem in the result, and the list stays unchanged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from citewell.engine.threads import BackgroundLoad, Runner
from citewell.model import Evidence, Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.options.tree import RetrievalOptions
from citewell.ranking.contract import Ordering
from citewell.ranking.cross_encoder import NAME, Moved, PairModel, rerank
from citewell.ranking.pair_models import load_pair_model

CLOSING_SECONDS = 10.0
DEPTH = 30
"""Number of papers that the model reads."""


class CrossEncoderAnswer(msgspec.Struct, frozen=True):
    """An ordering after the stage, or the one before it with the reason."""

    ordering: Ordering
    moved: tuple[Moved, ...] = ()
    """By place in the ordering; empty when the stage did not answer."""
    problem: Problem | None = None
    milliseconds: float = 0.0
    name: str = NAME
    """Name of the stage."""
    made_by: str = ""
    """The name of the ordering in the variant: "rank@builtin"."""

    def evidence(self, place: int) -> tuple[Evidence, ...]:
        """The evidence of the stage for the paper at this place; None below the head."""
        if place >= len(self.moved):
            return ()
        moved = self.moved[place]
        return (Evidence(self.name, moved.rank, moved.score, before=moved.before),)


class CrossEncoderStage:
    """Starts to load the model on construction."""

    def __init__(
        self, options: RetrievalOptions, load: Callable[[str], PairModel] = load_pair_model
    ) -> None:
        self._name = options.cross_encoder
        self._seconds = options.cross_encoder_ms / 1e3
        self.papers = DEPTH
        """Number of first papers that it reads."""
        self._runner = Runner()
        self._reading = 0
        self._idle = threading.Condition()
        name = self._name
        self._model = BackgroundLoad("reranker", partial(load, name), partial(_missing, name))

    @property
    def loaded(self) -> str:
        """The model's name once it is loaded, else empty."""
        return self._name if self._model.value is not None else ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problem of loading it, once known."""
        problem = self._model.problem
        return () if problem is None else (problem,)

    def wait(self, seconds: float) -> None:
        """Wait until it is loaded or has failed, at most `seconds`."""
        self._model.wait(seconds)

    def close(self) -> None:
        """Let running reads reach their next stop: ending a process inside a model's native code
        crashes it."""
        with self._idle:
            self._idle.wait_for(lambda: not self._reading, CLOSING_SECONDS)

    def reorder(
        self, query: Query, ordering: Ordering, head: Sequence[Work], cancel: Cancel
    ) -> CrossEncoderAnswer:
        """The ordering with its head, whose records are given, in the model's order.

        Raises only `Cancelled`; with a late or broken model the ordering stays.
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
            return rerank(query, ordering, head, model, cancel)
        finally:
            with self._idle:
                self._reading -= 1
                self._idle.notify_all()

    def _why(self, problems: Sequence[Problem], seconds: float) -> Problem:
        """The runner's first problem, reworded: the runner's messages are about retrievers."""
        first = problems[0]
        if first.code == "retriever-late":
            state = "did not answer" if self._model.is_done else "was not loaded"
            return Problem(
                "reranker-late",
                f"The cross-encoder {self._name!r} {state} within {seconds * 1e3:.0f} ms.",
                "The list is not reranked; raise `retrieval.cross_encoder_ms`, or choose a smaller "
                "model.",
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
