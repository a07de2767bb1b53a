"""Fits how the cross-encoder's score is added to the head's:
`python -m citewell_lab.training.crossencoder_fit --data ../shared/data`.

One weight, by the likelihood of the right papers of the tuning part (of `contexts/dev` and of newer
LaTeX papers), cold and warm. The confidence stays that of the ranker, from the changed scores.
What the score gains is measured with the weight fitted on the other half of the papers. It takes
minutes, and is run again when the head or the priors are retrained.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.priors import read_priors
from citewell.model.cancel import Cancel
from citewell.ranking.citation_cross_encoder import (
    CitationCrossEncoder,
    Combination,
    combine,
    write_combination,
)
from citewell.ranking.contract import Ordering
from citewell.ranking.learned import Model, head_scores
from citewell.ranking.pair_models import load_cross_encoder
from citewell.retrieval.encoders.static import WEIGHTS, StaticEncoder
from citewell.retrieval.passages import read_passages
from citewell_lab.training.crossencoder import START
from citewell_lab.training.data import CitationContext, read_contexts, read_papers
from citewell_lab.training.figures import by_paper, gains
from citewell_lab.training.pairs import load
from citewell_lab.training.questions import (
    CandidateQuestion,
    CitingFacts,
    ask,
    dev_contexts,
    dev_references,
    training_references,
    tuning_contexts,
)
from citewell_lab.training.split import fold
from citewell_lab.training.world import World, as_work

WEIGHTS_TRIED = tuple(np.round(np.arange(0.0, 1.51, 0.05), 2).tolist())


class QuestionRanking(msgspec.Struct, frozen=True):
    """The head's list of one question."""

    scores: NDArray[np.float32]
    """Of all candidates, falling."""
    right: NDArray[np.bool_]
    read: NDArray[np.float32]
    """The cross-encoder's, of the first."""
    paper: str


def listed(
    world: World,
    head: Model,
    model: CitationCrossEncoder,
    questions: Sequence[CandidateQuestion],
    papers: int,
) -> Iterable[QuestionRanking]:
    """The lists of questions, best first, cut to the papers that the model reads."""
    for number, one in enumerate(questions):
        rows, table = world.candidates(one.query, one.references, one.own, one.nearby)
        keep = ~np.isin(rows, one.exclude)
        rows, scores = rows[keep], head_scores(head.trees, table[keep])
        order = np.argsort(-scores, kind="stable")
        first = [as_work(world.papers[row]) for row in rows[order[:papers]]]
        read = model.scores(one.query, first, Cancel())
        yield QuestionRanking(scores[order], np.isin(rows[order], one.gold), read, one.paper)
        if number % 100 == 99:
            click.echo(f"{number + 1} of {len(questions)}", err=True)


def summed(one: QuestionRanking, how: Combination) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Scores after the combination, falling, and which are right."""
    plain = Ordering(np.arange(len(one.scores)), one.scores)
    found = combine(plain, one.read, how)[0]
    return found.scores, one.right[found.order]


def loss(lists: Sequence[QuestionRanking], how: Combination) -> float:
    """Mean negative log-likelihood of the right papers among those that are read, each citing paper
    counting the root of its questions."""
    total = weights = 0.0
    names, counts = np.unique([one.paper for one in lists], return_counts=True)
    many = dict(zip(names.tolist(), counts.tolist(), strict=True))
    for one in lists:
        count = len(one.read)
        scores, right = summed(one, how)
        scores, right = scores[:count].astype(np.float64), right[:count]
        if right.any():
            weight = many[one.paper] ** -0.5
            total -= weight * (np.logaddexp.reduce(scores[right]) - np.logaddexp.reduce(scores))
            weights += weight
    return float(total / max(weights, 1e-9))


def best_weight(lists: Sequence[QuestionRanking]) -> Combination:
    """The weight under which the right papers are likeliest."""
    tried = [msgspec.structs.replace(START, weight=weight) for weight in WEIGHTS_TRIED]
    return min(tried, key=lambda how: loss(lists, how))


def ranks(lists: Sequence[QuestionRanking], how: Combination) -> NDArray[np.float64]:
    """Rank of each question's first right paper, infinite where there is none."""
    found: list[float] = []
    for one in lists:
        at = np.flatnonzero(summed(one, how)[1])
        found.append(1 + float(at[0]) if len(at) else np.inf)
    return np.array(found)


def cross_validated(lists: Sequence[QuestionRanking]) -> NDArray[np.float64]:
    """Ranks with the weight fitted on the other half of the papers."""
    half = np.array([fold(one.paper) for one in lists])
    found = np.full(len(lists), np.inf)
    for own in (0, 1):
        others = [one for one, where in zip(lists, half, strict=True) if where != own]
        mine = [one for one, where in zip(lists, half, strict=True) if where == own]
        if others and mine:
            found[half == own] = ranks(mine, best_weight(others))
    return found


def figures(lists: Sequence[QuestionRanking], how: Combination) -> dict[str, Any]:
    """Recall and reciprocal rank with intervals over papers."""
    return by_paper(ranks(lists, how), [one.paper for one in lists])


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder for caches.")
@click.option("--weights", type=click.Path(path_type=Path), default=WEIGHTS, show_default=True)
@click.option(
    "--model",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="Its folder.",
)
@click.option("--papers", default=64, help="First papers that are read.")
@click.option("--test", is_flag=True, help="Measure on the test part too.")
def main(data: Path, work: Path, weights: Path, model: Path, *, papers: int, test: bool) -> None:
    """Fit the combination of head and cross-encoder."""
    write_combination(START, model)
    loaded = load_cross_encoder(str(model))
    assert isinstance(loaded, CitationCrossEncoder)
    corpus = read_papers(data)
    world = World(
        corpus,
        StaticEncoder(weights),
        read_priors(weights / "priors.npz"),
        read_passages(weights / "passages.npz"),
        work,
    )
    head = Model(weights / "ranker.npz")
    dev = read_contexts(data / "contexts" / "dev.jsonl.gz")
    of_dev = dev_references(data, world)
    citations = load(data, corpus)
    of_newer = training_references(data, world, citations)
    newer = tuning_contexts(citations)

    def lists(
        contexts: Sequence[CitationContext], known: CitingFacts, warm: float
    ) -> list[QuestionRanking]:
        return list(listed(world, head, loaded, ask(world, contexts, known, warm), papers))

    found = {
        f"{name} {setting}": lists(contexts, known, warm)
        for name, contexts, known in (
            ("dev", dev_contexts(dev, "valid"), of_dev),
            ("newer papers", newer, of_newer),
        )
        for setting, warm in (("cold", 0.0), ("warm", 1.0))
    }
    every = [one for part in found.values() for one in part]
    how = best_weight(every)
    write_combination(how, model)
    click.echo(json.dumps(msgspec.to_builtins(how)))
    plain, names = ranks(every, START), [one.paper for one in every]
    click.echo(f"gain, cross-validated: {json.dumps(gains(plain, cross_validated(every), names))}")
    if test:
        for setting, warm in (("cold", 0.0), ("warm", 1.0)):
            found[f"test {setting}"] = lists(dev_contexts(dev, "test"), of_dev, warm)
    for name, part in found.items():
        for label, one in (("without", msgspec.structs.replace(how, weight=0.0)), ("with", how)):
            click.echo(f"{name}, {label}: {json.dumps(figures(part, one))}")


if __name__ == "__main__":
    main()
