"""Fits the token table to the transformer's vectors of works:
`python -m citewell_lab.training.table --data ../shared/data --vectors FOLDER --into FOLDER`.

A work's vector is the weighted sum of its tokens' vectors, with a weight for each token in a title
and one in an abstract. A token begins as the mean vector of the works that hold it, less the mean
of all; the loss is 1 - cosine. A third of the works is read by the title alone.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.encoders.citation import TABLE, VOCABULARY, TokenReader
from citewell.retrieval.tokens import Vocabulary
from citewell_lab.training.data import TrainingPaper
from citewell_lab.training.works import read_works, works_vectors

DIM = 128
BATCH = 2048
RATE, WEIGHT_RATE = 2e-3, 2e-2
WARM_UP = 50
TITLE_ALONE = 0.33
HELD_OUT = 4000
"""Works that are not learned from, whose mean cosine is shown."""
_CHUNK = 4096


class TokenBags:
    """Tokens of works end to end, those of titles marked."""

    def __init__(self, papers: list[TrainingPaper], vocabulary: Vocabulary) -> None:
        reader = TokenReader(vocabulary)
        tokens, lengths = [], []
        for begin in range(0, len(papers), _CHUNK):
            chunk = papers[begin : begin + _CHUNK]
            texts = [text for paper in chunk for text in (paper.title, paper.abstract)]
            found, starts = reader.read(texts)
            tokens.append(found)
            lengths.append(np.diff(starts))
        per_text = np.concatenate(lengths)
        self.tokens = np.concatenate(tokens)
        self.in_title = np.repeat(np.resize([True, False], len(per_text)), per_text)
        self.starts = np.concatenate([[0], np.cumsum(per_text)])[::2]

    def take(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """The tokens of some works, which of them are in a title, and where each work begins."""
        begin, count = self.starts[rows], np.diff(self.starts)[rows]
        ends = np.cumsum(count)
        place = np.arange(int(ends[-1])) + np.repeat(begin - (ends - count), count)
        return self.tokens[place].astype(np.int64), self.in_title[place], ends - count


def first_table(bags: TokenBags, vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """The mean vector of the works that hold each token, less the mean of all, shape (V, d)."""
    table: NDArray[np.float32] = np.zeros((size, vectors.shape[1]), np.float32)
    count = np.zeros(size)
    lengths = np.diff(bags.starts)
    for begin in range(0, len(vectors), _CHUNK):
        rows = np.arange(begin, min(begin + _CHUNK, len(vectors)))
        own = bags.tokens[bags.starts[begin] : bags.starts[rows[-1] + 1]]
        order = np.argsort(own, kind="stable")
        distinct, first = np.unique(own[order], return_index=True)
        held = vectors[np.repeat(rows, lengths[rows])[order]]
        table[distinct] += np.add.reduceat(held, first, axis=0)
        count += np.bincount(own, minlength=size)
    share = (count / (count + 2))[:, None].astype(np.float32)
    table /= (count[:, None] + 2).astype(np.float32)
    table -= vectors.mean(axis=0) * share
    return table


def fit(
    bags: TokenBags, vectors: NDArray[np.float32], size: int, steps: int, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The table, shape (V, d), and the weights of tokens in abstracts and in titles, (2, V)."""
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    order = random.permutation(len(vectors))
    held = order[: min(HELD_OUT, len(vectors) // 10)]
    learned = order[len(held) :]
    table = torch.nn.Parameter(torch.from_numpy(first_table(bags, vectors, size)))
    weights = torch.nn.Parameter(torch.zeros(2, size))
    rates = [(table, RATE), (weights, WEIGHT_RATE)]
    optimizer = torch.optim.Adam(
        [{"params": [one], "lr": rate} for one, rate in rates], betas=(0.9, 0.99), fused=True
    )
    wanted = torch.from_numpy(vectors)

    def cosines(rows: NDArray[np.int64], title_alone: float) -> Any:
        tokens, in_title, starts = bags.take(rows)
        given = torch.from_numpy(tokens)
        factor = torch.exp(weights[torch.from_numpy(in_title.astype(np.int64)), given])
        lengths = np.diff(np.append(starts, len(tokens)))
        whole = np.repeat(random.random(len(rows)) >= title_alone, lengths)
        factor = factor * torch.from_numpy((in_title | whole).astype(np.float32))
        found = functional.embedding_bag(
            given, table, torch.from_numpy(starts), mode="sum", per_sample_weights=factor
        )
        return (functional.normalize(found, dim=1) * wanted[rows]).sum(1)

    began = time.monotonic()
    for step in range(steps):
        loss = 1 - cosines(random.choice(learned, BATCH), TITLE_ALONE).mean()
        for group, (_, rate) in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1, (step + 1) / WARM_UP) * (1 - step / steps)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                mean = float(cosines(held, 0.0).mean()) if len(held) else float("nan")
            spent = time.monotonic() - began
            click.echo(f"step {step + 1}: cosine {mean:.3f} of unread works ({spent:.0f} s)")
    return table.detach().numpy(), weights.detach().exp().numpy()


def save(table: NDArray[np.float32], weights: NDArray[np.float32], path: Path) -> None:
    """Writes `table.npz` for `CitationEncoder`."""
    scale = np.maximum(np.abs(table).max(axis=1) / 127, 1e-6).astype(np.float16)
    whole = np.clip(np.rint(table / scale[:, None].astype(np.float32)), -127, 127)
    np.savez_compressed(
        path,
        table=whole.astype(np.int8),
        scale=scale,
        title_weight=weights[1].astype(np.float16),
        abstract_weight=weights[0].astype(np.float16),
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option(
    "--vectors",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="Folder of the transformer's vectors of works.",
)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option("--steps", default=1000)
def main(data: Path, vectors: Path, into: Path, steps: int) -> None:
    """Fit the table of the vocabulary in the folder of weights."""
    papers = read_works(data).papers
    vocabulary = Vocabulary.read(into / VOCABULARY)
    bags = TokenBags(papers, vocabulary)
    save(*fit(bags, works_vectors(vectors, papers, DIM), len(vocabulary), steps), into / TABLE)


if __name__ == "__main__":
    main()
