"""The figures of a run: recall, reciprocal rank, intervals over papers, precision at coverage."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.model import Question
from citewell.ranking.features import UNKNOWN, feature_names
from citewell.ranking.learned import PRIOR_SIGNALS
from citewell_lab.datasets import open_data
from citewell_lab.training.data import citation_part, context_of, is_tuning, read_jsonl
from citewell_lab.training.priors import paper_key
from citewell_lab.training.questions import CandidateTable

CUTS = (1, 5, 10, 20, 100)
RESAMPLES = 2000


def ranks(table: CandidateTable, scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Rank of each question's first right candidate, infinite where there is none.

    Equal scores count against the right candidate.
    """
    starts = np.concatenate([[0], np.cumsum(table.size)])
    out = np.full(len(table.size), np.inf)
    for number, (begin, end) in enumerate(pairwise(starts)):
        right, own = table.right[begin:end], scores[begin:end]
        if right.any():
            best = own[right].max()
            out[number] = 1 + ((own >= best) & ~right).sum()
    return out


def by_paper(found: NDArray[np.float64], papers: Sequence[str]) -> dict[str, Any]:
    """Recall and MRR per record with 95% bootstrap intervals over papers, and per paper."""
    values = {f"R@{k}": (found <= k).astype(float) for k in CUTS}
    values["MRR"] = 1 / found
    names, owner = np.unique(np.array(papers), return_inverse=True)
    count = np.bincount(owner)
    out: dict[str, Any] = {"questions": len(found), "papers": len(names)}
    for name, (mean, low, high) in with_intervals(values, papers).items():
        each = float((np.bincount(owner, values[name]) / count).mean())
        out[name] = {"record": mean, "low": low, "high": high, "paper": round(each, 4)}
    return out


def gains(
    before: NDArray[np.float64], after: NDArray[np.float64], papers: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Gains in R@10 and MRR between two lists of ranks of the same questions, with 95% bootstrap
    intervals of the difference over papers."""
    values = {
        "R@10": (after <= 10).astype(float) - (before <= 10),
        "MRR": 1 / after - 1 / before,
    }
    return {
        name: {"gain": mean, "low": low, "high": high}
        for name, (mean, low, high) in with_intervals(values, papers).items()
    }


def with_intervals(
    values: Mapping[str, NDArray[np.float64]], papers: Sequence[str]
) -> dict[str, tuple[float, float, float]]:
    """The mean of each row of values, one a question, with its 95% bootstrap interval over the
    papers that they belong to."""
    names, owner = np.unique(np.array(papers), return_inverse=True)
    count = np.bincount(owner).astype(float)
    draws = np.random.default_rng(0).integers(0, len(names), (RESAMPLES, len(names)))
    out = {}
    for name, value in values.items():
        resampled = np.bincount(owner, value)[draws].sum(axis=1) / count[draws].sum(axis=1)
        low, high = np.quantile(resampled, (0.025, 0.975))
        out[name] = (round(float(value.mean()), 4), round(float(low), 4), round(float(high), 4))
    return out


def by_knowledge(table: CandidateTable, scores: NDArray[np.float32]) -> dict[str, dict[str, float]]:
    """Recall at 10 by what is known of the answers: those with known citations, those without, and
    those that are not candidates."""
    at = feature_names(PRIOR_SIGNALS).index("memory_popularity")
    starts = np.concatenate([[0], np.cumsum(table.size)])
    group: list[str] = []
    for begin, end in pairwise(starts):
        right = table.right[begin:end]
        stated = table.features[begin:end, at][right] > UNKNOWN
        group.append("cited" if stated.any() else "never cited" if right.any() else "no candidate")
    found = ranks(table, scores) <= 10
    names = np.array(group)
    return {
        name: {
            "share": round(float((names == name).mean()), 4),
            "R@10": round(float(found[names == name].mean()), 4),
        }
        for name in dict.fromkeys(group)
    }


def confidence_figures(
    table: CandidateTable,
    scores: NDArray[np.float32],
    confidence: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> dict[str, float]:
    """Precision of the first hit among the most confident 25%, 50%, 75% and 100% of questions."""
    starts = np.concatenate([[0], np.cumsum(table.size)])
    sure, right = [], []
    for begin, end in pairwise(starts):
        own = scores[begin:end]
        first = int(np.argmax(own))
        sure.append(float(confidence(own)[first]))
        right.append(bool(table.right[begin:end][first]))
    order = np.argsort(-np.array(sure), kind="stable")
    hits = np.array(right)[order]
    out = {
        f"precision at {share}%": round(float(hits[: max(len(hits) * share // 100, 1)].mean()), 4)
        for share in (25, 50, 75, 100)
    }
    out["mean confidence"] = round(float(np.mean(sure)), 4)
    return out


# Logistic regression with a ridge: few weights from few papers, without trust in any of them.


def ridge_logistic(
    inputs: NDArray[np.float64], right: NDArray[np.bool_], ridge: float
) -> NDArray[np.float64]:
    """Weights for the inputs, whose first column is one, by Newton's method. The ridge holds for
    standardised inputs and not for the first."""
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    mean[0], spread[0] = 0, 1
    spread[spread == 0] = 1
    scaled = (inputs - mean) / spread
    penalty = np.full(scaled.shape[1], ridge)
    penalty[0] = 1e-3
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (right - chance) - penalty * weights
        bend = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    found: NDArray[np.float64] = weights / spread
    found[0] -= float(mean[1:] @ found[1:])
    return found


# The citations that tune: of papers that trained neither the encoder nor the head.
#
# The tuning part of `contexts/dev`, and the LaTeX papers of `contexts_train2` and
# `contexts_no_gold2` that the split sets aside.

NEWER = ("contexts_train2", "contexts_no_gold2")


def tuning_citations(data: Path) -> list[Question]:
    """Clean citations of the papers that tune, with an answer in the corpora or without.

    The paper that a question without a title comes from is known by its key, so that what it cites
    itself is no evidence.
    """
    dev = data / "contexts" / "dev.jsonl.gz"
    found = [q for q in open_data(dev).questions if citation_part(q) == "valid"]
    with tempfile.TemporaryDirectory() as folder:
        # In one file, for a paper's references are those that its records name.
        path = Path(folder) / "tuning.jsonl.gz"
        keys = dict(_write(data, path))
        for question in open_data(path).questions:
            paper = replace(question.query.paper, key=keys[question.id])
            found.append(replace(question, query=replace(question.query, paper=paper)))
    return [question for question in found if "clean" in question.tags]


def _write(data: Path, path: Path) -> Iterator[tuple[str, int]]:
    """Writes the records of the newer papers that tune; the key of each one's paper, by its id."""
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for name in NEWER:
            for record in read_jsonl(data / "contexts" / f"{name}.jsonl.gz"):
                if is_tuning(record):
                    out.write(json.dumps(record) + "\n")
                    yield record["id"], paper_key(context_of(record))
