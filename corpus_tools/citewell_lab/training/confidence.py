"""Trains the confidence of citing sentences:
`python -m citewell_lab.training.confidence --library FOLDER/NAME --data ../shared/data`.

Citations of papers that tune, which trained neither encoder nor ranker, are asked of the engine
cold and warm; those of works that the library lacks, and a copy of each answerable question with
its paper taken out, have no answer. Short lists cut from the long ones stand for small libraries:
the confidence must not depend on there being competitors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.local import CONFIDENCE, RANKER, TYPED, LocalEngine
from citewell.model import Query, Question
from citewell.model.cancel import Cancel
from citewell.ranking.confidence import INPUTS, SentenceConfidence, known_inputs, shapes
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.ranking.features import FeatureInputs, feature_names, places
from citewell.ranking.learned import PRIOR_SIGNALS, LearnedRanker, Model, head_scores
from citewell.ranking.named import named
from citewell.ranking.trees import Trees
from citewell_lab.evaluation.results import Setting
from citewell_lab.evaluation.runner import query_for
from citewell_lab.training.data import fraction, open_library
from citewell_lab.training.figures import ridge_logistic, tuning_citations

KEPT = 60
"""First papers of a list that short lists are cut from."""
CALIBRATED = 3
"""First papers of each list that the model is fitted on."""
RIDGE = 100.0
SHORT = (1, 2, 4, 10, 30)
"""Lengths of the short lists."""
SHORT_SHARE = 0.3
"""Share of the questions of which a short list of each length is made."""
FOLDS = 5
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
_NAMES = feature_names(PRIOR_SIGNALS)


class RankedList(msgspec.Struct, frozen=True):
    """The list of one question: the features of its first `KEPT` papers, best first."""

    paper: str
    scores: NDArray[np.float32]
    """Scores of the whole list."""
    table: NDArray[np.float32]
    named: NDArray[np.float32]
    right: NDArray[np.bool_]
    left_out: bool
    """The paper that answers it was taken out."""


class Recorder(LearnedRanker):
    """Keeps what the confidence of the last list follows from."""

    rows: NDArray[np.int64]
    last: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]] | None

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """The ranker's order."""
        self.last = None
        return super().rank(query, candidates, signals, cancel)

    def _order_sentence(
        self,
        query: Query,
        known: FeatureInputs,
        table: NDArray[np.float32],
        scores: NDArray[np.float32],
        signals: Signals,
    ) -> Ordering:
        order = np.lexsort((np.arange(len(scores)), -scores))
        first = order[:KEPT]
        self.rows = known.rows[first]
        columns = signals.facts(self.rows)
        assert columns is not None
        names = named(query.sentence, columns, signals.aliases())
        self.last = (scores[order], table[first], names)
        return Ordering(order, scores[order])


def ask(
    engine: LocalEngine, recorder: Recorder, library: Library, questions: Sequence[Question]
) -> Iterator[RankedList]:
    """Each question cold and warm; one with an answer once more without it."""
    for number, question in enumerate(questions):
        held = bool((library.rows_of(question.gold) >= 0).any())
        settings: list[tuple[Setting, bool]] = [("cold", False), ("warm", False)]
        if held:
            settings.append(("cold" if fraction(question.id, "out") < 0.5 else "warm", True))
        for setting, left_out in settings:
            query = query_for(question, setting)
            if left_out:
                query = replace(query, exclude=(*query.exclude, *question.gold))
            engine.find_batch([query], 1, explained=0)
            if recorder.last is None:
                continue
            gold = library.rows_of(question.gold if held and not left_out else ())
            right = np.isin(recorder.rows, gold[gold >= 0])
            yield RankedList(question.paper, *recorder.last, right, left_out)
        if number % 250 == 249:
            click.echo(f"{number + 1} of {len(questions)}", err=True)


def short_lists(trees: Trees, lists: Sequence[RankedList]) -> Iterator[RankedList]:
    """Lists of a few of the papers of each list, as a small library would give them."""
    random = np.random.default_rng(0)
    for one in lists:
        if random.random() >= SHORT_SHARE:
            continue
        for size in SHORT:
            chosen = random.permutation(len(one.right))[:size]
            if one.right.any() and random.random() < 0.5:
                answer = np.flatnonzero(one.right)[:1]
                chosen = np.unique(np.concatenate([answer, chosen[: size - 1]]))
            table = among(one.table[chosen])
            scores = head_scores(trees, table)
            order = np.argsort(-scores, kind="stable")
            at = chosen[order]
            yield RankedList(
                one.paper, scores[order], table[order], one.named[at], one.right[at], one.left_out
            )


def among(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The features of some candidates as they are if there are no others."""
    out = table.copy()

    def column(name: str) -> NDArray[np.float32]:
        return table[:, _NAMES.index(name)]

    def put(name: str, values: NDArray[Any]) -> None:
        out[:, _NAMES.index(name)] = values

    for name in ("bm25", "bm25_near"):
        put(f"{name}_share", column(name) / max(float(column(name).max()), 1e-6))
        put(f"{name}_rank", places(column(name)))
    put("full_gap", column("full") - column("full").max())
    put("full_rank", places(column("full")))
    put("topic_rank", places(column("topic")))
    known = 0.75 * np.maximum(column("memory_popularity"), 0)
    put("memory_rank", places((column("full") * 20 + known).astype(np.float32)))
    put("popularity_rank", places(column("memory_popularity")))
    return out


def inputs_of(one: RankedList) -> NDArray[np.float64]:
    """Inputs of the first `CALIBRATED` papers of a list."""
    known = known_inputs(one.table, _NAMES, one.named)[:CALIBRATED]
    return np.concatenate([shapes(one.scores)[: len(known)], known], axis=1)


def fit(lists: Sequence[RankedList]) -> NDArray[np.float64]:
    """Weights for `INPUTS`."""
    inputs = np.concatenate([inputs_of(one) for one in lists])
    right = np.concatenate([one.right[:CALIBRATED] for one in lists])
    return ridge_logistic(inputs, right, RIDGE)


def cross_validated(lists: Sequence[RankedList], short: Sequence[RankedList]) -> dict[str, Any]:
    """Share filled from each threshold, and its precision: each paper's questions are judged by
    weights of the other papers' questions. Lists without their answer do not count."""
    sure: list[float] = []
    right: list[bool] = []
    for fold in range(FOLDS):
        weights = fit([one for one in (*lists, *short) if _fold(one) != fold])
        for one in lists:
            if _fold(one) == fold and not one.left_out:
                odds = float(inputs_of(one)[0] @ weights)
                sure.append(1 / (1 + np.exp(-odds)))
                right.append(bool(one.right[0]))
    chances, hits = np.array(sure), np.array(right)
    return {"questions": len(hits)} | {
        f"from {least}": {
            "filled": int((chances >= least).sum()),
            "precision": round(float(hits[chances >= least].mean()), 3),
        }
        for least in THRESHOLDS
        if (chances >= least).any()
    }


def _fold(one: RankedList) -> int:
    return int(fraction(one.paper, "confidence") * FOLDS)


def save(weights: NDArray[np.float64], path: Path) -> None:
    """Writes `confidence.npz`."""
    np.savez_compressed(path, weights=weights, names=np.array(INPUTS))


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
def main(data: Path, library: Path, into: Path) -> None:
    """Ask the citations of the papers that tune, fit the confidence and cross-validate it."""
    recorder = Recorder(RANKER, TYPED)
    engine = open_library(library, recorder)
    with Library.open(library) as held:
        lists = list(ask(engine, recorder, held, tuning_citations(data)))
    engine.close()
    short = list(short_lists(Model(RANKER).trees, lists))
    save(fit([*lists, *short]), into / CONFIDENCE.name)
    SentenceConfidence(into / CONFIDENCE.name)
    click.echo(json.dumps(cross_validated(lists, short), indent=1))


if __name__ == "__main__":
    main()
