"""Trains the order and the confidence of typed words:
`python -m citewell_corpus.training.typed --library FOLDER/NAME --data ../shared/data`.

The words are derived from real citations (`datasets.typed`), one or two kinds of each, alone or in
their sentence, cold or warm, and asked of the engine over a library of the corpora. The training
part of the split fits the trees, the tuning part the calibration and the thresholds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.local import RANKER, TYPED, LocalEngine
from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.ranking.learned import LearnedRanker
from citewell.ranking.trees import Trees, from_lightgbm
from citewell.ranking.typed import calibration_inputs, hopeful, typed_scores
from citewell.ranking.typed_features import FALLING, NAMES, RISING
from citewell_corpus.datasets.typed import KINDS
from citewell_corpus.training.head import logistic
from citewell_corpus.training.typed_questions import (
    ALIAS,
    TypedQuestion,
    training_questions,
    tuning_questions,
)

ROUNDS = 80
SETTINGS: dict[str, Any] = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "max_depth": 4,
    "learning_rate": 0.1,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "lambdarank_truncation_level": 20,
    "max_bin": 127,
    "verbose": -1,
    "seed": 0,
    "deterministic": True,
    "monotone_constraints_method": "intermediate",
    "monotone_constraints": [(n in RISING) - (n in FALLING) for n in NAMES],
}
CALIBRATED = 3
"""First papers of each question that the calibration is fitted on."""
_BATCH = 8


class Table(msgspec.Struct, frozen=True):
    """Candidates of many questions end to end: question i has `size[i]` rows."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]
    size: NDArray[np.int64]
    held: NDArray[np.bool_]
    kinds: tuple[str, ...]
    papers: tuple[str, ...]
    ways: tuple[tuple[str, str], ...]


class Recorder(LearnedRanker):
    """Keeps what the ranker would have ordered by."""

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """The order in which they came."""
        self.rows = candidates.rows
        self.table = np.zeros((0, len(NAMES)), np.float32)
        return super().rank(query, candidates, signals, cancel)

    def _order_typed(self, table: NDArray[np.float32]) -> Ordering:
        self.table = table
        return Ordering(np.arange(len(table)), np.zeros(len(table), np.float32))


def tabulate(
    engine: LocalEngine,
    recorder: Recorder,
    library: Library,
    questions: Sequence[TypedQuestion],
    label: str,
) -> Table:
    """Every question's candidates with their features, the hopeless ones left out."""
    tables, right = [], []
    for number, one in enumerate(questions):
        engine.find_batch([one.query], 1, explained=0)
        gold = library.rows_of(one.gold)
        answers = np.isin(recorder.rows[: len(recorder.table)], gold[gold >= 0])
        keep = answers.copy()
        keep[hopeful(recorder.table)] = True
        tables.append(recorder.table[keep])
        right.append(answers[keep])
        if number % 250 == 249:
            found = np.mean([r.any() for r, a in zip(right, questions, strict=False) if a.gold])
            click.echo(f"{label}: {number + 1} of {len(questions)}, found {found:.3f}", err=True)
    return Table(
        np.concatenate(tables),
        np.concatenate(right),
        np.array([len(t) for t in tables], np.int64),
        np.array([bool(one.gold) for one in questions]),
        tuple(one.kind for one in questions),
        tuple(one.paper for one in questions),
        tuple(one.way for one in questions),
    )


def fit(table: Table, threads: int = 1, rounds: int = ROUNDS) -> Trees:
    """The trees, fitted on every question that has a right candidate."""
    import lightgbm

    chosen = [(b, e) for b, e in _runs(table) if table.right[b:e].any()]
    data = lightgbm.Dataset(
        np.concatenate([table.features[b:e] for b, e in chosen]),
        np.concatenate([table.right[b:e] for b, e in chosen]).astype(int),
        group=[e - b for b, e in chosen],
        feature_name=list(NAMES),
    )
    model = lightgbm.train({**SETTINGS, "num_threads": threads}, data, rounds)
    return from_lightgbm(model.dump_model())


def calibrate(trees: Trees, table: Table) -> NDArray[np.float64]:
    """Logistic weights for the confidence of a question's best, unanswerable ones included."""
    inputs: list[NDArray[np.float64]] = []
    right: list[NDArray[np.bool_]] = []
    for begin, end in _runs(table):
        own = table.features[begin:end]
        scores = typed_scores(trees, own)
        best = np.argsort(-scores, kind="stable")[:CALIBRATED]
        inputs.append(calibration_inputs(scores, own)[best])
        right.append(table.right[begin:end][best])
    return logistic(np.concatenate(inputs), np.concatenate(right).astype(np.float64))


def _runs(table: Table) -> Iterator[tuple[int, int]]:
    yield from pairwise(np.concatenate([[0], np.cumsum(table.size)]).tolist())


def measure(trees: Trees, calibration: NDArray[np.float64], table: Table) -> dict[str, Any]:
    """Recall at 1 and 10 by kind, and what thresholds of the confidence would write."""
    first, ten, sure = [], [], []
    for begin, end in _runs(table):
        own, right = table.features[begin:end], table.right[begin:end]
        scores = typed_scores(trees, own)
        order = np.argsort(-scores, kind="stable")
        first.append(bool(right[order[:1]].any()))
        ten.append(bool(right[order[:10]].any()))
        chance = 1 / (1 + np.exp(-calibration_inputs(scores, own) @ calibration))
        sure.append(float(chance[order[0]]) if len(order) else 0.0)
    return figures(table, np.array(first), np.array(ten), np.array(sure))


def figures(
    table: Table, first: NDArray[np.bool_], ten: NDArray[np.bool_], sure: NDArray[np.float64]
) -> dict[str, Any]:
    """By kind and place: recall at 1 and 10; by threshold: precision and coverage."""
    out: dict[str, Any] = {}
    kinds, places = np.array(table.kinds), np.array([place for place, _ in table.ways])
    for kind in (*KINDS, ALIAS, "all"):
        for place in ("alone", "sentence", "elsewhere"):
            held = table.held & (places == place) & ((kinds == kind) | (kind == "all"))
            if held.any():
                one = {"n": int(held.sum()), "R@1": first[held].mean(), "R@10": ten[held].mean()}
                out[f"{kind}, {place}"] = {k: round(float(v), 3) for k, v in one.items()}
    for least in (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8):
        filled = sure >= least
        out[f"fill from {least}"] = {
            "precision": round(float(first[filled].mean()), 3),
            "coverage": round(float((first & filled).sum() / table.held.sum()), 3),
        }
    return out


def save(trees: Trees, calibration: NDArray[np.float64], path: Path) -> None:
    """Writes `typed.npz`."""
    np.savez_compressed(
        path,
        feature=trees.feature,
        threshold=trees.threshold,
        leaf=trees.leaf,
        calibration=calibration,
        names=np.array(NAMES),
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option("--questions", default=1800, help="Training citations at most.")
@click.option("--share", default=0.25, help="Of the tuning part's questions that is asked.")
@click.option("--threads", default=1)
def main(
    data: Path, library: Path, into: Path, *, questions: int, share: float, threads: int
) -> None:
    """Derive the words, ask them, train the trees and calibrate them."""
    options = Options()
    options = replace(
        options,
        library=replace(options.library, path=library.parent, name=library.name, starter=False),
        learning=replace(options.learning, enabled=False),
        sources=replace(options.sources, keep=False),
    )
    recorder = Recorder(RANKER, TYPED)
    engine = LocalEngine.open(options, ranker=recorder)
    with Library.open(library) as held:
        selected = training_questions(data, held, questions)
        train = tabulate(engine, recorder, held, selected, "train")
        tune = tabulate(engine, recorder, held, tuning_questions(data, held, share), "tune")
    engine.close()
    trees = fit(train, threads)
    calibration = calibrate(trees, tune)
    save(trees, calibration, into / TYPED.name)
    for name, table in (("train", train), ("tune", tune)):
        click.echo(f"{name}: {json.dumps(measure(trees, calibration, table), indent=1)}")


if __name__ == "__main__":
    main()
