"""Distils ranker and cross-encoder into the static encoder: a last step of
`citewell_lab.training.static`.

Citations of the papers that teach the encoder, each with the wrong papers that the pipeline ranks
first. The loss is that of the labels and a divergence from the scores: what reads sentence and
paper together says which of the wrong papers are nearly right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model.cancel import Cancel
from citewell.ranking.citation_cross_encoder import CitationCrossEncoder
from citewell.ranking.pair_models import load_cross_encoder
from citewell.retrieval.tokens import Vocabulary
from citewell_lab.training.crossencoder import CrossEncoderExample, gather
from citewell_lab.training.data import Bags, TrainingPaper, query_bags
from citewell_lab.training.static_network import TEMPERATURE, Arrays, Network
from citewell_lab.training.world import as_work

WRONG = 15
"""First wrong papers of a citation that the cross-encoder reads."""


class Recipe(msgspec.Struct, frozen=True):
    """What a distillation is made of."""

    citations: int = 5_000
    """Citations at most; the cross-encoder reads each with 16 papers."""
    steps: int = 60
    batch: int = 96
    """Citations a step."""
    papers: int = 8
    """Papers of each citation a step: the right one and wrong ones."""
    rate: float = 1.5e-3
    share: float = 0.7
    """Of the divergence in the loss; the rest is that of the labels."""
    seed: int = 0


class Lists(msgspec.Struct, frozen=True):
    """Citations with their papers: the right one, then the wrong ones, best first."""

    queries: Bags
    rows: NDArray[np.int64]
    """Rows of the corpora, shape (n, 1 + WRONG)."""
    scores: NDArray[np.float32]
    """What ranker and cross-encoder give them together, shape (n, 1 + WRONG)."""


def read_lists(
    examples: Sequence[CrossEncoderExample],
    papers: Sequence[TrainingPaper],
    vocabulary: Vocabulary,
    model: CitationCrossEncoder,
) -> Lists:
    """The examples with at least `WRONG` wrong papers, read by the cross-encoder."""
    taught = [one for one in examples if len(one.wrong) >= WRONG]
    rows = np.array([(one.gold, *one.wrong[:WRONG]) for one in taught], np.int64)
    head = np.array([(one.gold_score, *one.wrong_scores[:WRONG]) for one in taught], np.float32)
    read = np.zeros_like(head)
    for number, (one, own) in enumerate(zip(taught, rows.tolist(), strict=True)):
        read[number] = model.scores(one.query, [as_work(papers[row]) for row in own], Cancel())
        if number % 500 == 499:
            click.echo(f"read: {number + 1} of {len(taught)}", err=True)
    queries = query_bags((one.query for one in taught), vocabulary)
    return Lists(queries, rows, head + model.combination.weight * read)


def distil(start: Arrays, lists: Lists, papers: Bags, recipe: Recipe) -> Arrays:
    """The arrays after the recipe's steps, in float32."""
    import torch

    torch.manual_seed(recipe.seed)
    random = np.random.default_rng(recipe.seed)
    network = Network(start, recipe.rate)
    order = _order(len(lists.rows), recipe.steps * recipe.batch, random)
    losses: list[float] = []
    for step in range(recipe.steps):
        picked = order[step * recipe.batch : (step + 1) * recipe.batch]
        place = np.array([_draw(recipe.papers, random) for _ in picked])
        rows = lists.rows[picked[:, None], place]
        wanted = torch.from_numpy(lists.scores[picked[:, None], place])
        queries = network.queries(lists.queries.take(picked))
        offered = network.papers(papers.take(rows.ravel())).view(*rows.shape, -1)
        loss = _loss(queries, offered, rows[:, 0], wanted, recipe.share)
        network.step(loss, min(1, step / 8) * (1 - step / recipe.steps))
        losses.append(float(loss.detach()))
        if step % 20 == 19:
            click.echo(f"step {step + 1}: loss {np.mean(losses[-20:]):.3f}", err=True)
    return network.arrays()


def _order(count: int, wanted: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of citations: each is used before any comes again."""
    passes = [random.permutation(count) for _ in range(-(-wanted // count))]
    return np.concatenate(passes)[:wanted]


def _draw(count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Places of the right paper and of `count - 1` wrong ones in a list."""
    return np.append(0, 1 + random.permutation(WRONG)[: count - 1])


def _loss(queries: Any, offered: Any, right: NDArray[np.int64], wanted: Any, share: float) -> Any:
    """Of queries (n, d) and the papers offered to each (n, k, d), the right one first.

    By the labels, the right papers of the other queries count as wrong as well.
    """
    import torch

    own = torch.einsum("nd,nkd->nk", queries, offered) / TEMPERATURE
    others = queries @ offered[:, 0].T / TEMPERATURE
    same = torch.from_numpy(right[:, None] == right[None, :])
    every = torch.cat([own, others.masked_fill(same, -1e4)], 1)
    by_label = -torch.log_softmax(every, 1)[:, 0].mean()
    chances = torch.softmax(wanted, 1)
    by_score = -(chances * torch.log_softmax(own, 1)).sum(1).mean()
    return (1 - share) * by_label + share * by_score


def distilled(
    start: Arrays,
    bags: Bags,
    *,
    data: Path,
    papers: list[TrainingPaper],
    vocabulary: Vocabulary,
    weights: Path,
    model: Path,
    work: Path,
    recipe: Recipe,
) -> Arrays:
    """The arrays after distillation from the pipeline of a folder of weights and the cross-encoder
    of another folder; the examples are kept in `work`."""
    loaded = load_cross_encoder(str(model))
    if not isinstance(loaded, CitationCrossEncoder):
        raise click.UsageError(f"{model} holds no cross-encoder trained on citations.")
    examples = gather(data, papers, weights, work, recipe.citations, frozenset({"encoder"}))
    return distil(start, read_lists(examples, papers, vocabulary, loaded), bags, recipe)
