"""Requests, answers and costs of a language model, as plain data that passes between processes.

A language model chooses among records and orders them; it never names one. Its other words (a
reason, a quotation) are shown as its own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model.problem import Problem


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cost of requests to a language model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars, for requests with a known price."""
    unpriced: int = 0
    """Requests to a paid provider with an unknown price."""
    seconds: float = 0.0
    """Seconds waited for answers, in this process; not stored."""

    def plus(self, other: Usage) -> Usage:
        """The sum of both."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Usage(*(mine + theirs for mine, theirs in pairs))

    def minus(self, before: Usage) -> Usage:
        """The usage after `before`."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(before), strict=True)
        return Usage(*(now - then for now, then in pairs))


class Picked(msgspec.Struct, frozen=True, omit_defaults=True):
    """The candidate that a passage should cite."""

    work: str = ""
    """Id of the candidate; empty if none fits."""
    by: Literal["model", "ranker"] = "ranker"
    """Who chose: the first candidate stands for the ranker's choice if the model made none."""
    reason: str = ""
    """The model's own words, short and without references that are not candidates (`llm.remarks`).
    A claim, to be shown in quotation marks."""
    of: int = 0
    """Number of candidates shown to the model, from the first."""
    program: str = ""
    """Name and version of the program: "pick@builtin"."""
    model: str = ""
    problem: Problem | None = None
    """Why the model did not choose."""
    usage: Usage = Usage()


class Supported(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a record's abstract supports a sentence. It proves nothing: a model's opinion on a
    summary, to be shown with its words beside other evidence."""

    verdict: Literal["yes", "no", "unclear"] = "unclear"
    words: str = ""
    """The supporting words, found verbatim in the title or abstract."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    """The problem, if there is no answer."""
    usage: Usage = Usage()


class Interpreted(msgspec.Struct, frozen=True, omit_defaults=True):
    """The conditions in a question for a literature search, as a typed query."""

    text: str = ""
    """In the grammar of typed queries, made of the question's own words; empty if the model found
    no condition."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class SuggestedQueries(msgspec.Struct, frozen=True, omit_defaults=True):
    """Queries for methods, applications and limitations of the topic of a question."""

    queries: tuple[tuple[str, str], ...] = ()
    """Aspect and words."""
    program: str = ""
    model: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """Today's usage and its limits."""

    used: Usage = Usage()
    session: Usage = Usage()
    """Usage of this process alone."""
    daily_tokens: int = 0
    """Limit; 0 for none."""
    daily_cost: float = 0.0
    """Limit in US dollars; 0 for none."""


# Overviews as plain data: of a list of papers (themes, and sentences that cite papers by id), and
# of the coverage of a library.


class CitedSentence(msgspec.Struct, frozen=True):
    """A sentence and the papers of the list that support it."""

    text: str
    ids: tuple[str, ...]


class Theme(msgspec.Struct, frozen=True, omit_defaults=True):
    """A group of similar papers of a list."""

    words: tuple[str, ...]
    """Words that set their titles and abstracts apart, most distinctive first."""
    ids: tuple[str, ...]
    """In the order of the list."""
    sentences: tuple[CitedSentence, ...] = ()
    """Whole sentences of their abstracts."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A language model's summary of a list, as far as the abstracts support it."""

    sentences: tuple[CitedSentence, ...] = ()
    dropped: int = 0
    """Number of sentences left out: without a paper of the list, or not supported by it."""
    of: int = 0
    """Number of papers shown to the model, from the first."""
    program: str = ""
    """Name and version of the program: "summarize@builtin"."""
    model: str = ""
    problem: Problem | None = None
    """Why there is no summary."""
    usage: Usage = Usage()


class Overview(msgspec.Struct, frozen=True, omit_defaults=True):
    """The topics of the first papers of a list. It names no paper outside the list."""

    themes: tuple[Theme, ...] = ()
    """The largest first."""
    summary: Summary | None = None
    """The language model's; None if no model is configured."""
