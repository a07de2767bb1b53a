"""The plan of an evaluation, and the tables of its report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from citewell_lab.evaluation.methods import SearchMethod
from citewell_lab.evaluation.results import Evaluation, Scope, Setting


class EvaluationPlan(Struct, frozen=True, kw_only=True):
    """The selection and the setting of the questions."""

    methods: tuple[SearchMethod, ...]
    settings: tuple[Setting, ...] = ("cold", "warm")
    depth: int = 100
    limit: int | None = None
    """Sample this many answerable questions at random, and the others in proportion."""
    seed: int = 0
    jobs: int = 1
    latency_calls: int = 100
    threshold: float | None = None
    """The threshold of `fill` that is measured beside the fixed ones; default: the setting's."""
    compare: tuple[tuple[str, str], ...] = ()
    """Pairs of methods, or of `method:setting`; empty: the last method against the others."""
    misses: int = 20
    finds: int = 5
    abstain: bool = True
    """Also ask what the library cannot answer, of methods that state a confidence."""


# The tables of figures that a report shows: over which answers, averaged how.

Mean = Literal["by_question", "by_paper"]


class FigureTable(msgspec.Struct, frozen=True):
    """One table of figures."""

    scope: Scope
    mean: Mean
    title: str


_OF_SCOPE: dict[Scope, str] = {
    "past": "Without papers newer than the citing paper",
    "group": "With the other papers of the same citation counted as right",
    "citation": "Citations of several papers, each answered as a set",
}


def figure_tables(evaluation: Evaluation, *, brief: bool = False) -> Iterator[FigureTable]:
    """The tables that this evaluation has figures for, the main one first.

    `brief`: in the words of an author, without the answers that the library lacks.
    """
    first = (
        "citation whose paper is in the library" if brief else "question (answers in the library)"
    )
    yield FigureTable("library", "by_question", f"Per {first}")
    held = [item for item in evaluation.items if item.held]
    if 1 < len({item.paper for item in held}) < len(held):
        yield FigureTable("library", "by_paper", "Per citing paper")
    if not brief and any(item.held < item.answers for item in evaluation.items):
        title = "All answers, including those not in the library"
        yield FigureTable("all", "by_question", title)
    for scope, title in _OF_SCOPE.items():
        if any(run.figure("mrr", scope) for run in evaluation.runs):
            yield FigureTable(scope, "by_question", title)
