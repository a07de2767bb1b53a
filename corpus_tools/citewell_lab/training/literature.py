"""Trains the order and the judge of literature questions:
`python -m citewell_lab.training.literature --library FOLDER/NAME --data ../shared/data`.

The training and tuning parts of AutoScholarQuery are asked of the engine over a library of the
corpora. Five-fold cross-validation over the questions gives the figures and the scores that the
calibration is fitted on; the weights are then fitted on all of them. Then each question is searched
in passes, by the weights of the other folds, for the judge and its cut. The test part is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.local import LITERATURE, RANKER, TYPED, LocalEngine
from citewell.model import Query, Question
from citewell.model.cancel import Cancel
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.ranking.learned import LearnedRanker
from citewell.ranking.literature import NAMES, LiteratureModel, calibration_inputs
from citewell.usecases.explore.contract import (
    MAX_COUNT,
    ExploreQuery,
    Ranked,
    RelevanceJudge,
    judged_features,
)
from citewell.usecases.explore.contract import NAMES as JUDGE_NAMES
from citewell.usecases.explore.passes import explore
from citewell_lab.datasets import open_data
from citewell_lab.evaluation.matching import Gold
from citewell_lab.evaluation.scoring import set_scores
from citewell_lab.training.data import fraction, open_library, question_part
from citewell_lab.training.head import logistic

JUDGED = 200
"""First papers after each pass that teach."""
CUTS = tuple(n / 100 for n in range(3, 26))
SLACK = 0.01
"""The lowest cut whose F1 is within this of the best one is taken: answers that the data does not
name make precision look worse than it is."""


class SearchPasses(msgspec.Struct, frozen=True):
    """The lists of one question after its passes."""

    id: str
    answers: int
    """Answers that the library holds."""
    tables: tuple[NDArray[np.float64], ...]
    """The values of `JUDGE_NAMES` of each list's papers."""
    right: tuple[NDArray[np.int64], ...]
    """Number of the answer that each paper is, -1 for none."""


class _Recorder(RelevanceJudge):
    """Keeps the features and judges nothing."""

    def __init__(self) -> None:
        super().__init__((), 1.0)
        self.rows: dict[str, tuple[float, ...]] = {}

    def chances(self, lists: Sequence[Ranked], ids: Sequence[str]) -> list[float] | None:
        self.rows = dict(zip(ids, judged_features(lists, ids) or (), strict=False))
        return None


def search_all(
    engine: LocalEngine, questions: Sequence[Question], prepare: Callable[[str], None]
) -> list[SearchPasses]:
    """Every question in passes. `prepare` is called with its id before, to set the order."""
    gold = Gold(engine, questions)
    out = []
    for one in questions:
        prepare(one.id)
        right = gold.of(one)
        number = {name: n for n, ids in enumerate(right) for name in ids}
        recorder = _Recorder()
        tables, found = [], []
        request = ExploreQuery(text=one.query.text, count=MAX_COUNT, rounds=1)
        for state in explore(engine, request, judge=recorder):
            papers = [p for p in state.papers[:JUDGED] if p.work.id in recorder.rows]
            tables.append(np.array([recorder.rows[p.work.id] for p in papers]))
            found.append(
                np.array([
                    max(number.get(work.id, -1) for work in (p.work, *p.editions)) for p in papers
                ])
            )  # fmt: skip
        out.append(SearchPasses(one.id, len(right), tuple(tables), tuple(found)))
    return out


def fit_judge(searches: Sequence[SearchPasses]) -> NDArray[np.float64]:
    """Logistic weights of `JUDGE_NAMES`, over the lists after every pass."""
    tables = [table for one in searches for table in one.tables if len(table)]
    right = [own >= 0 for one in searches for own in one.right if len(own)]
    return logistic(np.concatenate(tables), np.concatenate(right).astype(np.float64))


def choose_cut(searches: Sequence[SearchPasses]) -> tuple[float, dict[float, tuple[float, ...]]]:
    """The cut, and by cut the mean precision, recall and F1 of the last lists, by weights that were
    fitted without the question's fold. Only questions with answers in the library count."""
    folds = [fit_judge([one for one in searches if fold_of(one.id) != n]) for n in range(FOLDS)]
    figures: dict[float, tuple[float, ...]] = {}
    for cut in CUTS:
        scores = []
        for one in searches:
            if not one.answers:
                continue
            table, right = one.tables[-1], one.right[-1]
            chance = 1 / (1 + np.exp(-table @ folds[fold_of(one.id)])) if len(table) else table
            own = right[chance >= cut]
            ranks = range(1, len(set(own[own >= 0].tolist())) + 1)
            scores.append(set_scores(ranks, len(own), one.answers))
        figures[cut] = tuple(float(value) for value in np.mean(scores, axis=0))
    best = max(f1 for _, _, f1 in figures.values())
    return min(cut for cut, (_, _, f1) in figures.items() if f1 >= best - SLACK), figures


RIDGE = 20.0
"""Pull of the weights towards the head's score alone."""
CALIBRATED = 200
"""First papers of each question that the calibration is fitted on."""
FOLDS = 5


class QuestionTable(msgspec.Struct, frozen=True):
    """The candidates of one question, best by the head's score first."""

    id: str
    head: NDArray[np.float32]
    table: NDArray[np.float64]
    answer: NDArray[np.int64]
    """Number of the answer that each candidate is, -1 for none."""
    answers: int
    """Answers that the library holds."""


class LiteratureRecorder(LearnedRanker):
    """The ranker with given weights for literature questions; it keeps what it ordered by."""

    def __init__(self, model: LiteratureModel | None = None) -> None:
        super().__init__(RANKER, TYPED, RANKER)
        self.model = model

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """The order by the given weights, or that of the head's score."""
        self.rows = candidates.rows
        self.head, self.table = np.zeros(0, np.float32), np.zeros((0, len(NAMES)))
        return super().rank(query, candidates, signals, cancel)

    def _order_literature(
        self, best: NDArray[np.int64], scores: NDArray[np.float32], table: NDArray[np.float64]
    ) -> Ordering:
        self.rows, self.head, self.table = self.rows[best], scores[best], table
        model = self.model or LiteratureModel(start(), np.zeros(4))
        return model.ordering(best, scores, table)


def questions_of(data: Path, parts: Sequence[str]) -> list[Question]:
    """The AutoScholar questions of these parts."""
    every = open_data(data / "queries" / "autoscholar_dev.jsonl.gz").questions
    return [one for one in every if question_part(one.id) in parts]


def fold_of(identifier: str) -> int:
    """The fold of a question in cross-validation."""
    return int(fraction(identifier, "citewell-literature-1") * FOLDS)


def tabulate(
    engine: LocalEngine,
    recorder: LiteratureRecorder,
    library: Library,
    questions: Sequence[Question],
) -> list[QuestionTable]:
    """Every question's candidates with their features."""
    gold = Gold(engine, questions)
    out = []
    for one in questions:
        engine.find_batch([replace(one.query, literature=True)], 400, explained=0)
        answer = np.full(len(recorder.head), -1, np.int64)
        right = gold.of(one)
        for number, ids in enumerate(right):
            rows = library.rows_of(sorted(ids))
            answer[np.isin(recorder.rows[: len(answer)], rows)] = number
        out.append(QuestionTable(one.id, recorder.head, recorder.table, answer, len(right)))
    return out


def start() -> NDArray[np.float64]:
    """The weights of the head's score alone."""
    return np.append(np.zeros(len(NAMES)), 1.0)


def fit_order(tables: Sequence[QuestionTable]) -> NDArray[np.float64]:
    """The weights that make the answers likeliest: a softmax over each list, each question counting
    by the root of its number of answers; pulled towards the head's score alone."""
    weights = start()
    lists = [
        (np.column_stack([one.table, one.head]), one.answer >= 0)
        for one in tables
        if (one.answer >= 0).any()
    ]
    for _ in range(30):
        slope = -RIDGE * (weights - start())
        bend = RIDGE * np.eye(len(weights))
        for rows, right in lists:
            scores = rows @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            count = int(right.sum())
            mean = chance @ rows
            slope += (rows[right].sum(axis=0) - count * mean) / np.sqrt(count)
            spread = (rows * chance[:, None]).T @ rows - np.outer(mean, mean)
            bend += np.sqrt(count) * spread
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def out_of_fold(tables: Sequence[QuestionTable]) -> list[NDArray[np.float64]]:
    """The scores of every question by weights that were fitted without its fold."""
    by_fold = [fit_order([one for one in tables if fold_of(one.id) != n]) for n in range(FOLDS)]
    return [
        LiteratureModel(by_fold[fold_of(one.id)], np.zeros(4)).scores(one.head, one.table)
        for one in tables
    ]


def calibrate(
    tables: Sequence[QuestionTable], scores: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Logistic weights of the probability that a paper is an answer; questions without an answer in
    the library are included."""
    inputs, right = [], []
    for one, own in zip(tables, scores, strict=True):
        order = np.argsort(-own, kind="stable")
        inputs.append(calibration_inputs(own[order])[:CALIBRATED])
        right.append((one.answer[order] >= 0)[:CALIBRATED])
    return logistic(np.concatenate(inputs), np.concatenate(right).astype(np.float64))


def recall(tables: Sequence[QuestionTable], scores: Sequence[NDArray[np.float64]], k: int) -> float:
    """Mean share of the held answers among the first k, over questions with one."""
    found = []
    for one, own in zip(tables, scores, strict=True):
        if one.answers:
            first = one.answer[np.argsort(-own, kind="stable")[:k]]
            found.append(len(set(first[first >= 0].tolist())) / one.answers)
    return float(np.mean(found))


DEPTHS = (5, 20, 50, 100, 200)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
def main(data: Path, library: Path, into: Path) -> None:
    """Ask the questions, fit the weights, calibrate them and choose the cut."""
    recorder = LiteratureRecorder()
    engine = open_library(library, recorder)
    with Library.open(library) as held:
        questions = questions_of(data, ("train", "valid"))
        tables = tabulate(engine, recorder, held, questions)
    scores = out_of_fold(tables)
    calibration = calibrate(tables, scores)
    models = [
        LiteratureModel(fit_order([one for one in tables if fold_of(one.id) != n]), calibration)
        for n in range(FOLDS)
    ]

    def set_order(identifier: str) -> None:
        recorder.model = models[fold_of(identifier)]

    searches = search_all(engine, questions, set_order)
    engine.close()
    heads = [np.asarray(one.head, np.float64) for one in tables]
    for k in DEPTHS:
        own, other = recall(tables, scores, k), recall(tables, heads, k)
        click.echo(f"recall@{k}: {own:.3f}, by the head's score alone {other:.3f}")
    order = fit_order(tables)
    for name, weight in zip((*NAMES, "head"), order, strict=True):
        click.echo(f"{name}: {weight:+.3f}")
    cut, figures = choose_cut(searches)
    for one, (precision, share, both) in figures.items():
        click.echo(f"cut {one:.2f}: precision {precision:.3f}, recall {share:.3f}, F1 {both:.3f}")
    click.echo(f"cut: {cut:.2f}")
    np.savez_compressed(
        into / LITERATURE.name,
        names=np.array(NAMES),
        order=order,
        calibration=calibration,
        judge_names=np.array(JUDGE_NAMES),
        judge=fit_judge(searches),
        cut=np.array(cut),
    )


if __name__ == "__main__":
    main()
