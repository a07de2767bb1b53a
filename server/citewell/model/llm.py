"""Requests, answers and costs of a language model, as plain data that passes between processes.

A language model chooses among records and orders them; it never names one. What it says beside
that (a reason, a quotation) is shown as its words.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model.problem import Problem


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What requests to a language model cost."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars, of the requests whose price is known."""
    unpriced: int = 0
    """Requests to a provider that takes money, at a price that is not known."""
    seconds: float = 0.0
    """Spent waiting for the answers; of this process alone, and not kept."""

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Usage(*(mine + theirs for mine, theirs in pairs))

    def minus(self, before: Usage) -> Usage:
        """What has been spent since."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(before), strict=True)
        return Usage(*(now - then for now, then in pairs))


class Picked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which of some candidates a passage should cite."""

    work: str = ""
    """Id of the candidate; empty when none of them fits."""
    by: Literal["model", "ranker"] = "ranker"
    """Who chose: where the model could not, the first candidate stands for the ranker."""
    reason: str = ""
    """The model's own words, short and without references that are not candidates
    (`llm.remarks`). A claim, to be shown in quotation marks."""
    of: int = 0
    """How many candidates the model was shown: the first ones."""
    program: str = ""
    """Name and version of the program that asked: "pick@builtin"."""
    model: str = ""
    problem: Problem | None = None
    """Why the model did not choose."""
    usage: Usage = Usage()


class Supported(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a record's abstract says what a sentence says. No proof against anybody: a model's
    opinion on a summary, to be shown with its words beside other evidence."""

    verdict: Literal["yes", "no", "unclear"] = "unclear"
    words: str = ""
    """The words of the title or abstract that say so, found there letter by letter."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    """The problem, if there is no answer."""
    usage: Usage = Usage()


class Interpreted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a question for a literature search asks for, as a query that the rules read."""

    text: str = ""
    """In the grammar of typed queries, made of the question's own words; empty where the model
    found no condition."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class SuggestedQueries(msgspec.Struct, frozen=True, omit_defaults=True):
    """Queries for methods, applications and limitations of what a question asks for."""

    queries: tuple[tuple[str, str], ...] = ()
    """Aspect and words."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was spent today, and what may be."""

    used: Usage = Usage()
    session: Usage = Usage()
    """By this process alone."""
    daily_tokens: int = 0
    """0: no limit."""
    daily_cost: float = 0.0
    """US dollars; 0: no limit."""
