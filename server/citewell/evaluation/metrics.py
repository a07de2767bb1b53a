"""Figures of one question, from the ranks at which its right answers stand.

Every function takes `ranks`, the 1-based ranks of the right answers that were found, rising and
each answer once (its first copy), and the number of right answers where it is needed. An empty
result scores zero, never nothing: leaving a question out would flatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import SequenceMatcher

RECALL_DEPTHS = (1, 5, 10, 20, 100, 1000)

MAP_DIVISOR = "min(number of right answers, 10)"
"""The divisor used by `average_precision`, stated in every report because authors differ."""


def metric_names(depth: int) -> tuple[str, ...]:
    """The metrics that a ranked list of `depth` papers can answer, in the order of the reports."""
    recalls = tuple(f"recall@{k}" for k in RECALL_DEPTHS if k <= depth)
    return (*recalls, "mrr", "ndcg@10", "map@10")


def recall(ranks: Sequence[int], right: int, k: int) -> float:
    """Share of the right answers among the first `k`; with one answer, the hit rate."""
    return sum(rank <= k for rank in ranks) / right if right else 0.0


def reciprocal_rank(ranks: Sequence[int], cutoff: int) -> float:
    """One over the rank of the first right answer, zero beyond `cutoff`."""
    return 1.0 / ranks[0] if ranks and ranks[0] <= cutoff else 0.0


def ndcg(ranks: Sequence[int], right: int, k: int = 10) -> float:
    """Normalised discounted gain with gain 1 and discount log2(1 + rank).

    Järvelin and Kekäläinen 2002. The ideal list holds min(right, k) answers at its head.
    """
    if not right:
        return 0.0
    gain = sum(1.0 / math.log2(1 + rank) for rank in ranks if rank <= k)
    return gain / sum(1.0 / math.log2(1 + rank) for rank in range(1, min(right, k) + 1))


def average_precision(ranks: Sequence[int], right: int, k: int = 10) -> float:
    """Mean of the precisions at each right answer in the first `k`, over min(right, k)."""
    if not right:
        return 0.0
    found = [rank for rank in ranks if rank <= k]
    return sum(n / rank for n, rank in enumerate(found, start=1)) / min(right, k)


def set_scores(ranks: Sequence[int], size: int, right: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of the first `size` papers as a set; 0 for an empty one."""
    found = sum(rank <= size for rank in ranks)
    if not found:
        return 0.0, 0.0, 0.0
    precision, share = found / size, found / right
    return precision, share, 2 * precision * share / (precision + share)


def score(name: str, ranks: Sequence[int], right: int, depth: int) -> float:
    """The metric called `name`. MRR is cut off at `depth`, the length of the lists asked for."""
    kind, _, cutoff = name.partition("@")
    if kind == "recall":
        return recall(ranks, right, int(cutoff))
    if kind == "mrr":
        return reciprocal_rank(ranks, int(cutoff) if cutoff else depth)
    if kind == "ndcg":
        return ndcg(ranks, right, int(cutoff))
    if kind == "map":
        return average_precision(ranks, right, int(cutoff))
    raise ValueError(f"there is no metric {name!r}")


def citeme_right(offered: str, titles: Sequence[str]) -> bool:
    """CiteME's own rule: lower-cased titles with a SequenceMatcher ratio above 0.8."""
    return any(
        SequenceMatcher(None, offered.lower(), title.lower()).ratio() > 0.8 for title in titles
    )
