"""Search quality for typed words that name a paper, by the kind of words.

Each question is a citation with words typed into its place. It is asked in four ways: the words
alone, as in a search box, and in their sentence; each cold and warm. What `fill` would do with the
first paper is measured over all questions, also over those whose paper the library lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitingPaper, Query, Question
from citewell.options import Options
from citewell_corpus.processes import Progress
from citewell_lab.evaluation import runner
from citewell_lab.evaluation.evaluate import open_engine
from citewell_lab.evaluation.matching import Gold, judge
from citewell_lab.evaluation.results import Setting
from citewell_lab.evaluation.statistics import Estimate, Groups, bootstrap

Place = Literal["alone", "sentence"]
DEPTH = 100
METRICS = ("recall@1", "recall@5", "recall@10", f"mrr@{DEPTH}")
BINS = 10
"""Bins of equal width for the expected calibration error (Guo et al. 2017)."""
EVERY = "all"
_KIND = "typed:"
_LEFT_OUT = "left-out"


class TypedOutcome(msgspec.Struct, frozen=True):
    """One question asked in one way."""

    id: str
    paper: str
    kind: str
    place: Place
    setting: Setting
    held: bool
    """The library holds the paper."""
    rank: int
    """1-based; 0 beyond `DEPTH` or where there is no answer."""
    confidence: float
    """Confidence in the first paper, as used by `fill`."""
    first: str = ""
    """Id of the first paper."""


class TypedFigures(msgspec.Struct, frozen=True):
    """The figures of one kind, asked in one way; intervals over papers."""

    kind: str
    place: Place
    setting: Setting
    questions: int
    """Questions whose paper the library holds."""
    lacking: int
    """Questions whose paper the library lacks."""
    ranks: dict[str, Estimate]
    """By metric."""
    calibration_error: float
    mean_confidence: float
    threshold: float
    filled: int
    precision: Estimate
    """Share of the papers that `fill` writes that are right; NaN where it writes none."""
    coverage: Estimate
    """Share of the questions whose paper the library holds that `fill` answers rightly."""


def kind_of(question: Question) -> str:
    """The kind of a typed question; empty for any other."""
    return next((tag.removeprefix(_KIND) for tag in question.tags if tag.startswith(_KIND)), "")


def query_as(question: Question, place: Place, setting: Setting) -> Query:
    """The query of a question in one of the four ways. Alone and cold is the typed text only."""
    query = runner.query_for(question, setting)
    if place == "sentence":
        return query
    paper = query.paper if setting == "warm" else CitingPaper()
    return Query(text=query.text, paper=paper, exclude=query.exclude, unfinished=query.unfinished)


def ask_typed(
    questions: Sequence[Question],
    options: Options,
    places: Sequence[Place],
    settings: Sequence[Setting],
    report: Progress,
    *,
    jobs: int = 1,
) -> list[TypedOutcome]:
    """Every question in every way. Raises `EvaluationError` without a library."""
    engine = open_engine(options)
    try:
        gold = Gold(engine, questions)
        right = [[] if _LEFT_OUT in one.tags else gold.of(one) for one in questions]
        found: list[TypedOutcome] = []
        for place in places:
            for setting in settings:
                queries = [query_as(one, place, setting) for one in questions]
                report.stage(f"{place}, {setting}", len(queries))
                if jobs > 1:
                    answers = runner.ask_in_processes(
                        options, queries, DEPTH, "fast", report.advance, jobs=jobs
                    )
                else:
                    answers = runner.ask(engine, queries, DEPTH, "fast", report.advance)
                for one, answer, offered in zip(questions, right, answers.offered, strict=True):
                    ranks = judge(one, answer, offered).ranks
                    found.append(
                        TypedOutcome(
                            one.id,
                            one.paper,
                            kind_of(one),
                            place,
                            setting,
                            bool(answer),
                            ranks[0] if ranks else 0,
                            offered.confidence or 0.0,
                            next(iter(offered.ids), ""),
                        )
                    )
        return found
    finally:
        engine.close()


def lines_of(
    answers: Sequence[TypedOutcome], threshold: float, seed: int = 0
) -> Iterator[TypedFigures]:
    """The figures of each kind in each way, and of all kinds together."""
    kinds = [*dict.fromkeys(one.kind for one in answers)]
    ways = [*dict.fromkeys((one.place, one.setting) for one in answers)]
    for kind in (*kinds, EVERY):
        for place, setting in ways:
            chosen = [
                one
                for one in answers
                if (one.place, one.setting) == (place, setting) and kind in (one.kind, EVERY)
            ]
            if any(one.held for one in chosen):
                yield _line(chosen, kind, threshold, seed)


def _line(answers: Sequence[TypedOutcome], kind: str, threshold: float, seed: int) -> TypedFigures:
    held = [one for one in answers if one.held]
    ranks = np.array([one.rank or np.inf for one in held], np.float64)
    values = np.stack([ranks <= 1, ranks <= 5, ranks <= 10, 1 / ranks], axis=1).astype(np.float64)
    estimates = [one for one, _ in bootstrap(values, Groups([o.paper for o in held], seed=seed))]
    groups = Groups([one.paper for one in answers], seed=seed)
    sure = np.array([one.confidence for one in answers])
    right = np.array([one.held and one.rank == 1 for one in answers])
    filled = sure >= threshold
    return TypedFigures(
        kind=kind,
        place=answers[0].place,
        setting=answers[0].setting,
        questions=len(held),
        lacking=len(answers) - len(held),
        ranks=dict(zip(METRICS, estimates, strict=True)),
        calibration_error=calibration_error(sure, right),
        mean_confidence=float(sure.mean()),
        threshold=threshold,
        filled=int(filled.sum()),
        precision=_ratio(filled & right, filled, groups),
        coverage=_ratio(filled & right, np.array([one.held for one in answers]), groups),
    )


def calibration_error(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Mean distance of confidence and share of right answers over bins of equal width."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    error = 0.0
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            error += inside.mean() * abs(float(sure[inside].mean()) - float(right[inside].mean()))
    return float(error)


def _ratio(part: NDArray[np.bool_], whole: NDArray[np.bool_], groups: Groups) -> Estimate:
    """Share of `whole` that is `part`, with a 95% bootstrap interval over papers."""
    if not whole.any():
        return Estimate(float("nan"))
    share = float(part.sum() / whole.sum())
    if groups.papers < 2:
        return Estimate(share)
    over = groups.draws @ groups.sums(part.astype(np.float64))
    under = groups.draws @ groups.sums(whole.astype(np.float64))
    low, high = np.percentile(over[under > 0] / under[under > 0], [2.5, 97.5])
    return Estimate(share, float(low), float(high))
