"""Trains the head: `python -m citewell_lab.training.head --data ../shared/data`.

LambdaMART over the candidates' features (LightGBM; needed here only). It learns from citing papers
that the encoder has not read (`split.role_of`): a head that learns from scores of an encoder that
saw the same citations trusts them too much and loses on new ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.priors import write_priors
from citewell.ranking.features import feature_names
from citewell.ranking.learned import PRIOR_SIGNALS, calibrated, calibration_inputs, head_scores
from citewell.ranking.trees import Trees, from_lightgbm
from citewell.retrieval.encoders.citation import CitationEncoder
from citewell.retrieval.passages import write_passages
from citewell_lab.training.figures import by_knowledge, by_paper, confidence_figures, ranks
from citewell_lab.training.pairs import load
from citewell_lab.training.priors import gather, read_counts
from citewell_lab.training.questions import (
    CandidateQuestion,
    CandidateTable,
    ask,
    dev_contexts,
    dev_references,
    search_questions,
    tabulate,
    training_contexts,
    training_references,
    tuning_contexts,
    unanswerable_contexts,
)
from citewell_lab.training.reading import passage_vectors
from citewell_lab.training.works import matched_contexts, read_works, works_vectors
from citewell_lab.training.world import World

ROUNDS = 240
SETTINGS: dict[str, Any] = {
    "objective": "lambdarank",
    "num_leaves": 20,
    "max_depth": 5,
    "learning_rate": 0.05,
    "min_data_in_leaf": 80,
    "feature_fraction": 0.35,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "lambdarank_truncation_level": 8,
    "max_bin": 127,
    "verbose": -1,
    "seed": 0,
    "deterministic": True,
}
HARD, EASY = 120, 80
"""Wrong candidates kept of each training question: the best placed, and any."""


def thinned(features: NDArray[np.float32], right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the candidates to train on: the right ones, the best-ranked others, and a few at
    random; empty if no candidate is right."""
    keep = right.copy()
    if right.any():
        names = feature_names(PRIOR_SIGNALS)
        by = [names.index(n) for n in ("memory_rank", "full_rank", "bm25_rank")]
        keep[np.argsort(features[:, by].min(axis=1), kind="stable")[:HARD]] = True
        random = np.random.default_rng(len(right))
        keep[random.choice(len(right), min(EASY, len(right)), replace=False)] = True
    return keep


def fit(tables: Sequence[CandidateTable], threads: int = 1, rounds: int = ROUNDS) -> Trees:
    """The trees, fitted on every question that has a right candidate."""
    import lightgbm

    # A question without a right candidate has none at all: `thinned`.
    data = lightgbm.Dataset(
        np.concatenate([table.features for table in tables]),
        np.concatenate([table.right for table in tables]).astype(int),
        group=np.concatenate([table.size[table.size > 0] for table in tables]),
        feature_name=list(feature_names(PRIOR_SIGNALS)),
    )
    model = lightgbm.train({**SETTINGS, "num_threads": threads}, data, rounds)
    return from_lightgbm(model.dump_model())


def calibrate(trees: Trees, tables: Sequence[CandidateTable]) -> NDArray[np.float64]:
    """Logistic weights for the confidence of a question's ten best, unanswerable ones included."""
    inputs: list[NDArray[np.float64]] = []
    right: list[NDArray[np.bool_]] = []
    for table in tables:
        scores = head_scores(trees, table.features)
        starts = np.concatenate([[0], np.cumsum(table.size)])
        for begin, end in pairwise(starts):
            best = np.argsort(-scores[begin:end], kind="stable")[:10]
            inputs.append(calibration_inputs(scores[begin:end])[best])
            right.append(table.right[begin:end][best])
    return logistic(np.concatenate(inputs), np.concatenate(right).astype(np.float64))


def logistic(inputs: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of a logistic model, by Newton's method with a slight ridge."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (right - chance) - 1e-3 * weights
        bend = (inputs * (chance * (1 - chance))[:, None]).T @ inputs
        step = np.linalg.solve(bend + 1e-3 * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def save(trees: Trees, calibration: NDArray[np.float64], encoder: str, path: Path) -> None:
    """Writes `ranker.npz`."""
    np.savez_compressed(
        path,
        feature=trees.feature,
        threshold=trees.threshold,
        leaf=trees.leaf,
        calibration=calibration,
        encoder=np.array(encoder),
        names=np.array(feature_names(PRIOR_SIGNALS)),
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder for caches.")
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option(
    "--vectors",
    "vectors_folder",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="Folder of the transformer's vectors of works.",
)
@click.option("--questions", default=5000, help="Training questions at most.")
@click.option("--threads", default=1, help="Processes that ask the questions, too.")
@click.option("--test", is_flag=True, help="Measure on the test part too.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the figures as JSON.")
def main(
    data: Path,
    work: Path,
    into: Path,
    *,
    vectors_folder: Path,
    questions: int,
    threads: int,
    test: bool,
    report: Path | None,
) -> None:
    """Gather the priors, train the head and calibrate it."""
    works = read_works(data)
    citations = load(data, works)
    encoder = CitationEncoder(into)
    vectors = works_vectors(vectors_folder, works.papers, encoder.dim)
    clean = [one for one in citations.contexts if one.clean]
    read = passage_vectors(clean, into, work, encoder.dim)
    priors, passages = gather(works, read, citations, read_counts(data, works), encoder)
    write_priors(priors, into / "priors.npz")
    write_passages(passages, into / "passages.npz")
    world = World(works, vectors, encoder, priors, passages, work)
    known = training_references(data, world, citations)
    contexts = training_contexts(citations, questions)
    click.echo(f"{len(contexts)} training contexts", err=True)
    train = [
        tabulate(
            world,
            ask(world, contexts, known, warm, untitled, apart=True),
            f"train {name}",
            thin=thinned,
            jobs=threads,
        )
        for name, warm, untitled in (("cold", 0.0, 0.3), ("warm", 1.0, 0.1))
    ]
    searching = search_questions(data, world, "train")
    searches = tabulate(world, searching, "searches", thin=thinned, jobs=threads)
    trees = fit([*train, searches], threads)
    dev = list(matched_contexts(data / "contexts" / "dev.jsonl.gz", works))
    known_dev = dev_references(data, world)

    def measure(name: str, questions: list[CandidateQuestion]) -> None:
        measured[name] = tabulate(world, questions, name, jobs=threads)

    measured: dict[str, CandidateTable] = {}
    newer = tuning_contexts(citations)
    for name, warm in (("cold", 0.0), ("warm", 1.0)):
        measure(f"valid {name}", ask(world, dev_contexts(dev, "valid"), known_dev, warm))
        measure(f"newer valid {name}", ask(world, newer, known, warm))
    none = [
        *ask(world, dev_contexts(dev, "valid", False), known_dev, 0.5),
        *ask(world, unanswerable_contexts(data, len(newer)), known, 0.5),
    ]
    unanswered = tabulate(world, none, "no answer", jobs=threads)
    calibration = calibrate(trees, [*measured.values(), unanswered])
    save(trees, calibration, encoder.fingerprint, into / "ranker.npz")
    if test:
        for name, warm in (("test cold", 0.0), ("test warm", 1.0)):
            measure(name, ask(world, dev_contexts(dev, "test"), known_dev, warm))
        measure("searches", search_questions(data, world, "test"))
    figures: dict[str, Any] = {}
    for name, table in measured.items():
        scores = head_scores(trees, table.features)
        figures[name] = by_paper(ranks(table, scores), table.papers)
        figures[name]["by what is known"] = by_knowledge(table, scores)
        figures[name]["confidence"] = confidence_figures(
            table, scores, lambda s: calibrated(s, calibration)
        )
        click.echo(f"{name}: {json.dumps(figures[name])}")
    if report is not None:
        report.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
