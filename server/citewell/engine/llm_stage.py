"""The language model stage of the engine: opened on a thread, with a time limit, without blocking
searches.

A failure is a problem in the result, and the list, the first paper or the passage stays unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec
import numpy as np

from citewell.engine.cross_encoder_stage import CrossEncoderAnswer
from citewell.engine.threads import BackgroundLoad, Runner
from citewell.llm import literature
from citewell.llm.assistant import LanguageModel, ModelOrder, Rewritten
from citewell.model import Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import (
    Budget,
    Interpreted,
    Picked,
    SuggestedQueries,
    Summary,
    Supported,
    Usage,
)
from citewell.options.online import LlmOptions
from citewell.ranking.contract import Ordering
from citewell.ranking.cross_encoder import Moved

LOADING_SECONDS = 60.0
"""Seconds that an explicit request waits for the import of DSPy, before its own time limit."""
NAME = "llm"
"""Name of the stage in the evidence and in the timings."""
FAILURES = 2
"""Consecutive failures of the model (late or unreachable) before it is paused."""
PAUSE = 60.0
"""Seconds for which a paused model is not queried."""
_GONE = ("llm-late", "llm-down", "llm-refused")

OFF = Problem(
    "llm-off",
    "No language model configured.",
    "Set `llm.provider` and `llm.model`.",
)

A = TypeVar("A", Picked, Supported, Rewritten, ModelOrder, Summary, SuggestedQueries, Interpreted)


class LlmStage:
    """Starts to import DSPy on construction. Thread-safe."""

    def __init__(self, options: LlmOptions, model: LanguageModel) -> None:
        self._options = options
        self._model = model
        self._seconds = options.timeout_ms / 1e3
        self._runner = Runner()
        self._failures = 0
        self._not_before = 0.0
        self._loaded = BackgroundLoad("llm", model.load, self._broken)

    @classmethod
    def open(cls, options: LlmOptions) -> LlmStage | None:
        """The stage, or None if the settings name no model; makes no connection.

        Raises `CitewellError`.
        """
        model = LanguageModel.open(options)
        return None if model is None else cls(options, model)

    @property
    def name(self) -> str:
        """ "ollama qwen3:8b"."""
        return self._model.name

    def budget(self) -> Budget:
        """Today's usage, and its limits."""
        return self._model.budget()

    @property
    def explores(self) -> bool:
        """Whether it takes part in literature searches."""
        return self._options.explore

    @property
    def spent(self) -> Usage:
        """The usage of this engine, without reading the day's count."""
        return self._model.account.session

    def wait(self, seconds: float) -> None:
        """Wait until DSPy is imported, at most `seconds`."""
        self._loaded.wait(seconds)

    def close(self) -> None:
        """Close connections."""
        self._model.close()

    def pick(self, query: Query, works: Sequence[Work], cancel: Cancel) -> Picked:
        """Pick one of the works, or none. Raises only `Cancelled`."""
        first = works[0].id if works else ""
        failed = partial(Picked, work=first, model=self.name)
        return self._explicit(lambda own: self._model.pick(query, works, own), failed, cancel)

    def verify(self, sentence: str, work: Work, cancel: Cancel) -> Supported:
        """Whether the work's abstract supports the sentence. Raises `Cancelled` alone."""
        failed = partial(Supported, model=self.name)
        return self._explicit(lambda own: self._model.verify(sentence, work, own), failed, cancel)

    def rewrite(self, query: Query, cancel: Cancel) -> Rewritten:
        """Alternative queries for a passage. Raises only `Cancelled`."""
        return self._ask(lambda own: self._model.rewrite(query, own), Rewritten, cancel)

    def summarize(self, question: str, works: Sequence[Work], cancel: Cancel) -> Summary:
        """A summary of the works for the question. Raises `Cancelled` alone."""
        return self._explicit(
            lambda own: literature.summarize(self._model, question, works, own),
            partial(Summary, model=self.name),
            cancel,
        )

    def suggest_queries(
        self, question: str, works: Sequence[Work], cancel: Cancel
    ) -> SuggestedQueries:
        """Queries for further papers. Raises `Cancelled` alone."""
        return self._explicit(
            lambda own: literature.suggest_queries(self._model, question, works, own),
            partial(SuggestedQueries, model=self.name),
            cancel,
        )

    def interpret(self, question: str, cancel: Cancel) -> Interpreted:
        """The conditions of a question. Raises `Cancelled` alone."""
        return self._explicit(
            lambda own: literature.interpret(self._model, question, own),
            partial(Interpreted, model=self.name),
            cancel,
        )

    def reorder(
        self, query: Query, ordering: Ordering, head: Sequence[Work], cancel: Cancel
    ) -> CrossEncoderAnswer:
        """The ordering with its head, whose records are given, in the model's order.

        Raises only `Cancelled`; with a late model or an invalid answer the ordering stays.
        """
        if len(head) < 2:
            return CrossEncoderAnswer(ordering)
        begin = time.perf_counter()
        ranked = self._ask(lambda own: self._model.rank(query, head, own), ModelOrder, cancel)
        spent = (time.perf_counter() - begin) * 1e3
        if not ranked.order:
            return CrossEncoderAnswer(ordering, (), ranked.problem, spent, NAME)
        reordered, moved = permuted(ordering, ranked.order)
        return CrossEncoderAnswer(reordered, moved, None, spent, NAME, ranked.program)

    def _explicit(self, task: Callable[[Cancel], A], failed: Callable[..., A], cancel: Cancel) -> A:
        """The answer to an explicit request, which also waits for DSPy."""
        self._loaded.wait(min(LOADING_SECONDS, cancel.remaining), cancel)
        return self._ask(task, failed, cancel)

    def _ask(self, task: Callable[[Cancel], A], failed: Callable[..., A], cancel: Cancel) -> A:
        """The task's answer; without one, the result of `failed` for the problem."""
        answer, problem = self._run(task, cancel)
        answer = failed(problem=problem) if answer is None else answer
        self._note(answer.problem)
        return answer

    def _run(self, task: Callable[[Cancel], A], cancel: Cancel) -> tuple[A | None, Problem | None]:
        """The task's answer if it comes in time, else the problem. Raises `Cancelled`."""
        cancel.check()
        if (wait := self._not_before - time.monotonic()) > 0:
            return None, Problem(
                "llm-paused",
                f"The language model {self.name} failed {FAILURES} times in a row; it is paused "
                f"for {wait:.0f} s.",
                "Citewell continues without it; `citewell llm --ask` shows the cause.",
            )
        seconds = min(self._seconds, cancel.remaining)
        answers, problems, _ = self._runner.run({NAME: task}, seconds, cancel)
        if NAME in answers:
            answer: A = answers[NAME]
            return answer, None
        problem = problems[0]
        if problem.code == "retriever-late":
            problem = Problem(
                "llm-late",
                f"The language model {self.name} did not answer within {seconds * 1e3:.0f} ms.",
                "Citewell continues without it; raise `llm.timeout_ms`, or choose a faster model.",
            )
        elif problem.code == "retriever-failed":
            problem = self._broken()
        return None, problem

    def _broken(self, error: Exception | None = None) -> Problem:
        return Problem(
            "llm-failed",
            # The exception's message may quote the answer, so it goes to the log only.
            f"The language model {self.name} failed.",
            "Citewell continues without it; see the log.",
        )

    def _note(self, problem: Problem | None) -> None:
        """Pause a model that keeps failing: otherwise every placeholder would wait for it."""
        if problem is not None and problem.code == "llm-paused":
            return
        gone = problem is not None and problem.code in _GONE
        self._failures = self._failures + 1 if gone else 0
        if self._failures >= FAILURES:
            self._failures = 0
            self._not_before = time.monotonic() + PAUSE


def permuted(ordering: Ordering, order: Sequence[int]) -> tuple[Ordering, tuple[Moved, ...]]:
    """The ordering with its first places in another order, and the moves.

    The scores stay in place: they must descend, and a model gives none. The confidence moves with
    its paper.
    """
    places = np.array([*order, *range(len(order), len(ordering.order))], np.int64)
    moved = tuple(Moved(rank, 1.0 / rank, place + 1) for rank, place in enumerate(order, 1))
    confidence = None if ordering.confidence is None else ordering.confidence[places]
    changed = msgspec.structs.replace(ordering, order=ordering.order[places], confidence=confidence)
    return changed, moved
