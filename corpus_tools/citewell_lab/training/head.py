"""Trains the head: `python -m citewell_lab.training.head --data ../shared/data`.

LambdaMART over the candidates' features (LightGBM; needed here only). It learns from citing papers
that the encoder has not read (`data.role_of`): a head that learns from scores of an encoder that
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
from citewell.retrieval.encoders.citation import TRANSFORMER, CitationEncoder, passage_tokens
from citewell.retrieval.encoders.transformer import HEADS
from citewell.retrieval.encoders.wordpiece import WordPiece
from citewell.retrieval.passages import write_passages
from citewell_lab.training.data import CitationContext, as_query
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
from citewell_lab.training.works import matched_contexts, read_works, works_vectors
from citewell_lab.training.world import World

# Reads many passages with the transformer, by PyTorch: a hundred thousand in ten minutes.

BATCH = 128
_KEPT = "passages.npz"


class BatchReader:
    """The network of `Transformer` for batches, in float32: a processor without instructions for
    bfloat16 takes fifty times as long."""

    def __init__(self, path: Path) -> None:
        """`path` is `encoder.npz`."""
        import torch

        self._torch = torch
        with np.load(path, allow_pickle=False) as file:
            raw = {name: file[name] for name in file.files}
        self._arrays: dict[str, Any] = {}
        for name, array in raw.items():
            if name.endswith("_scale"):
                continue
            values = array.astype(np.float32)
            if f"{name}_scale" in raw:
                values *= raw[f"{name}_scale"].astype(np.float32)[:, None]
            self._arrays[name] = torch.from_numpy(values)
        self._layers = sum(name.endswith(".qkv") for name in raw)

    def read(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The vectors of texts, of length 1, shape (n, width)."""
        order = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
        out = np.zeros((len(tokens), self._arrays["words"].shape[1]), np.float32)
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            ids = np.zeros((len(rows), max(len(tokens[n]) for n in rows)), np.int64)
            for at, n in enumerate(rows):
                ids[at, : len(tokens[n])] = tokens[n]
            out[rows] = self._batch(self._torch.from_numpy(ids)).numpy()
            if begin // BATCH % 100 == 99:
                click.echo(f"{begin + len(rows)} of {len(tokens)} passages are read", err=True)
        return out

    def _batch(self, ids: Any) -> Any:
        """Vectors of token numbers (b, n), 0 where there is none."""
        torch = self._torch
        functional, take = torch.nn.functional, self._arrays
        count, longest = ids.shape
        with torch.inference_mode():
            there = ids != 0
            states = take["words"][ids] + take["positions"][:longest]
            width = states.shape[-1]

            def normed(values: Any, name: str) -> Any:
                weight, bias = take[f"{name}.weight"], take[f"{name}.bias"]
                return functional.layer_norm(values, (width,), weight, bias, 1e-12)

            def dense(values: Any, name: str) -> Any:
                return functional.linear(values, take[name], take[f"{name}.bias"])

            states = normed(states, "norm")
            seen = there[:, None, None, :].expand(-1, 1, longest, -1)
            for n in range(self._layers):
                own = f"layers.{n}."
                parts = dense(states, f"{own}qkv").view(count, longest, 3, HEADS, -1)
                query, key, value = parts.permute(2, 0, 3, 1, 4)
                mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
                mixed = mixed.transpose(1, 2).reshape(count, longest, width)
                states = normed(states + dense(mixed, f"{own}out"), f"{own}norm")
                inner = functional.gelu(dense(states, f"{own}up"))
                states = normed(states + dense(inner, f"{own}down"), f"{own}norm2")
            weight = there[..., None].to(states.dtype)
            mean = (states * weight).sum(1) / weight.sum(1)
            return functional.normalize(mean.float(), dim=1)


def passage_vectors(
    contexts: Sequence[CitationContext], weights: Path, work: Path, dim: int
) -> dict[str, NDArray[np.float32]]:
    """Vectors of the passages of citations, of length 1, by id; kept in the folder `work`."""
    names = np.array([context.id for context in contexts])
    path = work / _KEPT
    known: dict[str, int] = {}
    kept = np.zeros((0, dim), np.float16)
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            known, kept = {n: at for at, n in enumerate(file["names"].tolist())}, file["vectors"]
    missing = [n for n, name in enumerate(names.tolist()) if name not in known]
    if missing:
        cutter = WordPiece()
        tokens = [passage_tokens(cutter, as_query(contexts[n])) for n in missing]
        fresh = BatchReader(weights / TRANSFORMER).read(tokens)[:, :dim]
        fresh /= np.linalg.norm(fresh, axis=1, keepdims=True)
        order = sorted(known, key=known.__getitem__)
        kept = np.concatenate([kept, fresh.astype(np.float16)])
        stored = np.array([*order, *names[missing].tolist()])
        work.mkdir(parents=True, exist_ok=True)
        np.savez(path, names=stored, vectors=kept)
        known = {name: at for at, name in enumerate(stored.tolist())}
    return {name: kept[known[name]].astype(np.float32) for name in names.tolist()}


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
