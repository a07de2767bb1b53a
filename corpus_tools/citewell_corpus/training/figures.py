"""The figures of a run: recall, reciprocal rank, intervals over papers, precision at coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.ranking.features import UNKNOWN, feature_names
from citewell.ranking.learned import PRIOR_SIGNALS
from citewell_corpus.training.questions import Table

CUTS = (1, 5, 10, 20, 100)
RESAMPLES = 2000


def ranks(table: Table, scores: NDArray[np.float32]) -> NDArray[np.float64]:
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
    """What R@10 and MRR gain from one list of ranks to another of the same questions, with 95%
    bootstrap intervals of the difference over papers."""
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


def by_knowledge(table: Table, scores: NDArray[np.float32]) -> dict[str, dict[str, float]]:
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
    table: Table,
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
