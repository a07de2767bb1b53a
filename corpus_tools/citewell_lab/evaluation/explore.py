"""Recall of a search in passes, and the contribution of each of its parts.

Each question is asked as it stands. The list after every pass is judged, so that one run shows
what each pass adds; an ablation is a run of its own, compared on the same questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from citewell.engine.local import LocalEngine
from citewell.model import Question
from citewell.options import Options
from citewell.usecases.explore.contract import ExploreQuery
from citewell.usecases.explore.passes import explore
from citewell_corpus.processes import Progress
from citewell_lab.evaluation import scoring
from citewell_lab.evaluation.evaluate import open_engine, sample, with_unique_ids
from citewell_lab.evaluation.matching import Gold, Offered, judge, targets_of
from citewell_lab.evaluation.statistics import (
    Estimate,
    Groups,
    PairedDifference,
    bootstrap,
    compare,
)

DEPTH = 200
RANKED = ("recall@5", "recall@20", "recall@50", "recall@100", "recall@200", "ndcg@10", "map@10")
SET = ("precision", "recall", "F1", "recall of all", "F1 of all")
"""Measures of the papers that are judged relevant: against the answers that the library holds, and
against all answers (precision is the same)."""
METRICS = (*RANKED, *SET)
UNJUDGED = 4
"""Papers that count as the set where none is judged."""
WHOLE = "explore"
PASSES = ("references", "papers", "citations")
PARTS = {
    "passes": frozenset(PASSES),
    "references": frozenset({"references"}),
    "papers": frozenset({"papers"}),
    "refchain": frozenset({"citations"}),
    "evolve": frozenset({"aspects"}),
    "judge": frozenset({"judge"}),
    "understand": frozenset(),
}
"""The parts that can be left out: all passes but the first, one pass, the judgement of the papers,
or the reading of the question."""


class PassOutcome(msgspec.Struct, frozen=True):
    """The list of one question after one pass."""

    id: str
    paper: str
    method: str
    step: str
    """The pass; "last" for the final list."""
    answers: int
    """Correct papers that the library holds."""
    ranks: tuple[int, ...]
    """1-based, of those that are in the list."""
    milliseconds: float
    """From the start of the search to this list."""
    all_answers: int = 0
    """Correct papers, held or not."""
    relevant: int = 0
    """Papers at the head of the list that are judged relevant."""
    queries: int = 0
    """Queries put to the engine until this list."""
    requests: int = 0
    """Requests to the language model."""
    tokens: int = 0
    unbacked: int = 0
    """Papers of the list that the library has no record of."""


class PassFigures(msgspec.Struct, frozen=True):
    """The figures of one method after one pass, means per question with 95% intervals."""

    method: str
    step: str
    questions: int
    values: dict[str, Estimate]
    """By metric."""
    p50: float
    """Milliseconds until this list."""
    p95: float
    queries: float = 0.0
    """Means per question, as those that follow."""
    requests: float = 0.0
    tokens: float = 0.0
    relevant: float = 0.0
    gains: dict[str, PairedDifference] = {}
    """By metric, of the whole over an ablation."""


def ask_explore(
    questions: Sequence[Question],
    options: Options,
    without: Sequence[str],
    report: Progress,
    *,
    limit: int | None = None,
    seed: int = 0,
    rounds: int = 1,
) -> list[PassOutcome]:
    """Every question that the library can answer, as a whole and without each part named, in so
    many rounds of passes.

    Raises `EvaluationError` without a library, and `KeyError` for an unknown part.
    """
    engine = open_engine(options)
    try:
        questions = with_unique_ids(questions)
        gold = Gold(engine, questions)
        right = {one.id: gold.of(one) for one in questions}
        held = [one for one in sample(questions, right, limit, seed) if right[one.id]]
        found: list[PassOutcome] = []
        for part in ("", *without):
            report.stage(f"without {part}" if part else WHOLE, len(held))
            for one in held:
                found += _lists(engine, one, right[one.id], part, rounds)
                report.advance(1)
        return found
    finally:
        engine.close()


def _lists(
    engine: LocalEngine, question: Question, right: list[frozenset[str]], part: str, rounds: int
) -> Iterator[PassOutcome]:
    text = question.query.text
    if part == "understand":
        # A plus sign makes a word of what would be a condition.
        text = " ".join(f"+{word}" for word in text.split())
    left_out = PARTS[part] if part else frozenset()
    request = ExploreQuery(text=text, count=DEPTH, without=left_out, rounds=rounds)
    method = f"without {part}" if part else WHOLE
    spent, queries = 0.0, 0
    before = engine.spent()
    for state in explore(engine, request):
        spent += state.passes[-1].milliseconds
        queries += len(state.passes[-1].queries)
        ids = tuple(one.work.id for one in state.papers)
        ranks = judge(question, right, Offered(ids, (None,) * len(ids))).ranks
        unbacked = sum(work is None for work in engine.works(ids)) if state.ending else 0
        used = engine.spent()
        relevant = state.relevant if state.relevant is not None else min(UNJUDGED, len(ids))
        steps = [state.passes[-1].name, *(["last"] if state.ending else [])]
        for step in steps:
            yield PassOutcome(
                question.id,
                question.paper or question.id,
                method,
                step,
                len(right),
                ranks,
                spent,
                len(targets_of(question)),
                relevant,
                queries,
                used.requests - before.requests,
                used.input_tokens + used.output_tokens - before.input_tokens - before.output_tokens,
                unbacked,
            )


def lines_of(answers: Sequence[PassOutcome], seed: int = 0) -> Iterator[PassFigures]:
    """The figures after each pass of the whole, and at the end of each ablation.

    Where a search ended before a pass, its last list counts for the pass.
    """
    whole = _by_step([one for one in answers if one.method == WHOLE])
    for step in ("search", *PASSES):
        yield _line(whole, step, seed)
    best = _values(whole, "last")
    papers = [one["last"].paper for one in whole]
    for method in dict.fromkeys(one.method for one in answers if one.method != WHOLE):
        other = _by_step([one for one in answers if one.method == method])
        line = _line(other, "last", seed)
        values = _values(other, "last")
        gains = {
            name: compare(best[:, n], values[:, n], papers, seed=seed)
            for n, name in enumerate(METRICS)
        }
        yield msgspec.structs.replace(line, gains=gains)


def _by_step(answers: Sequence[PassOutcome]) -> list[dict[str, PassOutcome]]:
    """For each question its list by pass, with those of passes that were not made."""
    out: dict[str, dict[str, PassOutcome]] = {}
    for one in answers:
        out.setdefault(one.id, {})[one.step] = one
    for lists in out.values():
        latest = lists["search"]
        for step in PASSES:
            latest = lists.setdefault(step, latest)
    return list(out.values())


def _values(lists: Sequence[dict[str, PassOutcome]], step: str) -> np.ndarray:
    return np.array([_scores(one[step]) for one in lists])


def _scores(one: PassOutcome) -> list[float]:
    """The values of `METRICS`."""
    ranked = [scoring.score(name, one.ranks, one.answers, DEPTH) for name in RANKED]
    held = scoring.set_scores(one.ranks, one.relevant, one.answers)
    _, share, both = scoring.set_scores(one.ranks, one.relevant, max(one.all_answers, one.answers))
    return [*ranked, *held, share, both]


def _line(lists: Sequence[dict[str, PassOutcome]], step: str, seed: int) -> PassFigures:
    groups = Groups([one[step].paper for one in lists], seed=seed)
    estimates = [one for one, _ in bootstrap(_values(lists, step), groups)]

    def mean(name: str) -> float:
        return float(np.mean([getattr(one[step], name) for one in lists]))

    p50, p95 = np.percentile([one[step].milliseconds for one in lists], [50, 95])
    return PassFigures(
        lists[0][step].method,
        step,
        len(lists),
        dict(zip(METRICS, estimates, strict=True)),
        float(p50),
        float(p95),
        mean("queries"),
        mean("requests"),
        mean("tokens"),
        mean("relevant"),
    )
