"""What an engine asks its language model: each answer is checked, or says why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.model import Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Interpreted, Picked, SuggestedQueries, Supported, Usage
from citewell.model.overview import Summary

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage


class ModelMethods:
    """The methods of the engine that ask the language model."""

    _llm_stage: LlmStage | None
    _problems: tuple[Problem, ...]

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Which of the works the place of the query should cite; the first without a model."""
        if self._llm_stage is None:
            return Picked(work=works[0].id if works else "", problem=self._no_llm())
        return self._llm_stage.pick(query, works, cancel or Cancel())

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence."""
        if self._llm_stage is None:
            return Supported(problem=self._no_llm())
        return self._llm_stage.verify(sentence, work, cancel or Cancel())

    def summarize(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> Summary:
        """A summary of the works for the question."""
        if self._llm_stage is None:
            return Summary(problem=self._no_llm())
        return self._llm_stage.summarize(question, works, cancel or Cancel())

    def suggest_queries(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> SuggestedQueries:
        """Queries for methods, applications and limitations of what was found."""
        if self._llm_stage is None:
            return SuggestedQueries(problem=self._no_llm())
        return self._llm_stage.suggest_queries(question, works, cancel or Cancel())

    def interpret(self, question: str, *, cancel: Cancel | None = None) -> Interpreted:
        """The conditions of a question, as a query that the rules read."""
        if self._llm_stage is None:
            return Interpreted(problem=self._no_llm())
        return self._llm_stage.interpret(question, cancel or Cancel())

    def spent(self) -> Usage:
        """What this engine's language model has cost."""
        return Usage() if self._llm_stage is None else self._llm_stage.spent

    def _no_llm(self) -> Problem:
        from citewell.engine.llm_stage import OFF

        known = (one for one in self._problems if one.code.startswith("llm-"))
        return next(known, OFF)
