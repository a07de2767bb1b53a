"""The order of literature questions: its features from the engine, its weights by Newton's method.

`training.literature` is the command.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.local import RANKER, TYPED, LocalEngine
from citewell.model import Query, Question
from citewell.model.cancel import Cancel
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.ranking.learned import LearnedRanker
from citewell.ranking.literature import NAMES, LiteratureModel, calibration_inputs
from citewell_lab.datasets import open_data
from citewell_lab.evaluation.matching import Gold
from citewell_lab.training.head import logistic
from citewell_lab.training.split import fraction, question_part

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
