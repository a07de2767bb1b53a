"""Turns judged answers into figures with intervals, abstention and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import (
    Abstention,
    Evaluation,
    Figure,
    Item,
    Judged,
    MethodComparison,
    MethodRun,
    Picks,
    Scope,
    SelectivePrecision,
    problem,
)
from citewell_lab.evaluation.statistics import Groups, bootstrap, compare, correct_p

# Figures of one question, from the ranks at which its right answers stand.
#
# Every function takes `ranks`, the 1-based ranks of the right answers that were found, rising and
# each answer once (its first copy), and the number of right answers where it is needed. An empty
# result scores zero, never nothing: leaving a question out would flatter.

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


def ndcg(
    ranks: Sequence[int],
    right: int,
    k: int = 10,
    grades: Sequence[float] = (),
    ideal: Sequence[float] = (),
) -> float:
    """Normalised discounted gain with discount log2(1 + rank), and as gain the grade of an answer:
    `grades` are those of `ranks`, and `ideal` those of all answers; 1 without.

    Järvelin and Kekäläinen 2002. The ideal list holds the k best answers at its head.
    """
    if not right:
        return 0.0
    gains = zip(ranks, grades or [1.0] * len(ranks), strict=True)
    best = sorted(ideal or [1.0] * right, reverse=True)[:k]
    gain = sum(one / math.log2(1 + rank) for rank, one in gains if rank <= k)
    return gain / sum(one / math.log2(1 + rank) for rank, one in enumerate(best, 1))


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


def score(
    name: str,
    ranks: Sequence[int],
    right: int,
    depth: int,
    grades: Sequence[float] = (),
    ideal: Sequence[float] = (),
) -> float:
    """The metric called `name`. MRR is cut off at `depth`, the length of the lists asked for; nDCG
    weighs answers by their grades."""
    kind, _, cutoff = name.partition("@")
    if kind == "recall":
        return recall(ranks, right, int(cutoff))
    if kind == "mrr":
        return reciprocal_rank(ranks, int(cutoff) if cutoff else depth)
    if kind == "ndcg":
        return ndcg(ranks, right, int(cutoff), grades, ideal)
    if kind == "map":
        return average_precision(ranks, right, int(cutoff))
    raise ValueError(f"there is no metric {name!r}")


def citeme_right(offered: str, titles: Sequence[str]) -> bool:
    """CiteME's own rule: lower-cased titles with a SequenceMatcher ratio above 0.8."""
    return any(
        SequenceMatcher(None, offered.lower(), title.lower()).ratio() > 0.8 for title in titles
    )


COVERAGES = (0.25, 0.5, 0.75)
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PICK_THRESHOLDS = (0.0, 0.02, 0.05)
"""Also tried where a language model picks: it may see what the ranker does not."""
COMPARED = ("recall@10", "mrr")
"""Metrics of the randomisation tests."""


class Scorer:
    """Scores the answers to one set of questions; resamples of its papers are drawn once."""

    def __init__(self, items: Sequence[Item], depth: int, seed: int = 0) -> None:
        self.items = {item.id: item for item in items}
        self.depth = depth
        self.names = metric_names(depth)
        self.held = [item for item in items if item.held]
        dated = [item for item in self.held if item.year is not None]
        self._of_scope: dict[Scope, list[Item]] = {
            "library": self.held,
            "all": list(items),
            "past": dated,
            "group": self.held if any(item.grouped for item in self.held) else [],
            "citation": [item for item in self.held if item.members],
        }
        self._groups = {
            scope: Groups([item.paper for item in chosen], seed=seed)
            for scope, chosen in self._of_scope.items()
        }

    def figures(self, judged: Mapping[str, Judged]) -> tuple[Figure, ...]:
        """Every metric in every scope; a question without an answer list scores zero."""
        out: list[Figure] = []
        for scope, chosen in self._of_scope.items():
            if not chosen:
                continue
            values = np.array(
                [[self._score(name, scope, item, judged) for name in self.names] for item in chosen]
            )
            estimates = bootstrap(values, self._groups[scope])
            out.extend(
                Figure(name, scope, by_question, by_paper)
                for name, (by_question, by_paper) in zip(self.names, estimates, strict=True)
            )
        return tuple(out)

    def _score(self, name: str, scope: Scope, item: Item, judged: Mapping[str, Judged]) -> float:
        one = judged.get(item.id)
        if one is None:
            return 0.0
        ranks = one.ranks
        if scope == "past":
            ranks = one.past or ()
        elif scope == "group" and one.grouped is not None:
            ranks = one.grouped
        elif scope == "citation":
            ranks = one.members
        right = {"all": item.answers, "citation": item.members}.get(scope, item.held)
        if not item.grades or ranks is not one.ranks:
            return score(name, ranks, right, self.depth)
        return score(name, ranks, right, self.depth, one.grades, item.grades[:right])

    def newer_in_ten(self, judged: Mapping[str, Judged]) -> float | None:
        """Share of the first ten papers that are newer than the citing paper."""
        pairs = [judged[item.id] for item in self._of_scope["past"] if item.id in judged]
        shown = sum(min(10, one.length) for one in pairs)
        return sum(one.newer for one in pairs) / shown if shown else None

    def abstention(
        self, judged: Mapping[str, Judged], thresholds: Sequence[float] = THRESHOLDS
    ) -> tuple[Abstention, ...]:
        """Abstention at each threshold; empty when the method states no confidence."""
        confidence, right, held = self._confidence(judged)
        if confidence is None:
            return ()
        out = []
        for threshold in thresholds:
            silent = confidence < threshold
            out.append(
                Abstention(
                    threshold=float(threshold),
                    abstained=int(silent.sum()),
                    precision=_share(silent & ~held, silent),
                    recall=_share(silent & ~held, ~held) or 0.0,
                    wrong_instead=_share(~silent & ~held, ~held) or 0.0,
                    answered_right=_share(right & ~silent, ~silent),
                )
            )
        return tuple(out)

    def coverage(self, judged: Mapping[str, Judged]) -> tuple[SelectivePrecision, ...]:
        """Precision of the first paper on the most confident 25, 50 and 75%."""
        confidence, right, held = self._confidence(judged)
        if confidence is None or not held.any():
            return ()
        order = np.argsort(-confidence, kind="stable")
        held_order = order[held[order]]
        out = []
        for part in COVERAGES:
            n = max(1, round(part * len(order)))
            m = max(1, round(part * len(held_order)))
            out.append(
                SelectivePrecision(
                    coverage=part,
                    precision=float(right[order[:n]].mean()),
                    precision_answerable=float(right[held_order[:m]].mean()),
                    threshold=float(confidence[order[n - 1]]),
                )
            )
        return tuple(out)

    def picks(self, judged: Mapping[str, Judged], shown: int) -> Picks | None:
        """Counts of a model's choices from the first `shown` papers; None without choices.

        A choice moves one of them to the front: the right paper was shown if it is still among
        them.
        """
        picked = [one for one in judged.values() if one.chose]
        if not picked:
            return None
        count = {"right": 0, "wrong": 0, "missed": 0, "misled": 0, "declined": 0, "failed": 0}
        for one in picked:
            there = any(rank <= shown for rank in one.ranks)
            if one.chose == "failed":
                count["failed"] += 1
            elif one.chose == "none":
                count["missed" if there else "declined"] += 1
            else:
                first = "right" if 1 in one.ranks else "wrong"
                count[first if there else "misled"] += 1
        return Picks(shown=shown, **count)

    def _confidence(
        self, judged: Mapping[str, Judged]
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_], NDArray[np.bool_]]:
        """Confidence, whether the first paper is right, whether an answer is held; per question.

        An empty list is the surest way to abstain: its confidence is below every threshold.
        """
        rated = [(item, judged[item.id]) for item in self.items.values() if item.id in judged]
        right = np.array([one.ranks[:1] == (1,) for _, one in rated], np.bool_)
        held = np.array([item.held > 0 for item, _ in rated], np.bool_)
        if not any(one.confidence is not None for _, one in rated):
            return None, right, held
        values = [-1.0 if one.confidence is None else one.confidence for _, one in rated]
        return np.array(values, np.float64), right, held


def _share(part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None


def compare_runs(
    pairs: Sequence[tuple[MethodRun, MethodRun]],
    items: Sequence[Item],
    depth: int,
    *,
    seed: int = 0,
    names: Sequence[str] = COMPARED,
) -> tuple[MethodComparison, ...]:
    """A paired randomisation test for each pair and metric, with Holm's correction over all."""
    held = [item for item in items if item.held]
    found = []
    for a, b in pairs:
        of_a, of_b = ({one.id: one for one in run.judged} for run in (a, b))
        both = [item for item in held if item.id in of_a and item.id in of_b]
        if not both:
            raise problem(
                "compare-disjoint",
                f"{a.label} and {b.label} have no question in common.",
                "Compare results over the same data set and library.",
            )
        papers = [item.paper for item in both]
        for name in names:
            values = [
                np.array([score(name, of[i.id].ranks, i.held, depth) for i in both])
                for of in (of_a, of_b)
            ]
            found.append((a, b, name, compare(values[0], values[1], papers, seed=seed)))
    corrected = correct_p([result.p for *_, result in found])
    return tuple(
        MethodComparison(a.label, b.label, name, result, p)
        for (a, b, name, result), p in zip(found, corrected, strict=True)
    )


# Methods of one evaluation against each other, and one evaluation against another.


def comparisons(
    runs: Sequence[MethodRun], items: Sequence[Item], plan: EvaluationPlan
) -> tuple[MethodComparison, ...]:
    """The pairs asked for; else the last method against each other one, and warm against cold."""
    if plan.compare:
        pairs = [pair for a, b in plan.compare for pair in _paired(runs, a, b)]
    else:
        pairs = []
        last = runs[-1].name if runs else ""
        mine = {run.setting: run for run in runs if run.name == last}
        for run in runs:
            if run.name != last and run.setting in mine:
                pairs.append((mine[run.setting], run))
        if {"cold", "warm"} <= mine.keys():
            pairs.append((mine["warm"], mine["cold"]))
    return compare_runs(pairs, items, plan.depth, seed=plan.seed)


def _paired(runs: Sequence[MethodRun], a: str, b: str) -> list[tuple[MethodRun, MethodRun]]:
    """Runs named `a` and `b` in the same setting, or in the settings that the names give."""
    chosen = []
    for name in (a, b):
        method, _, setting = name.partition(":")
        found = [r for r in runs if r.name == method and setting in ("", r.setting)]
        if not found:
            known = ", ".join(dict.fromkeys(run.name for run in runs))
            raise problem("compare-unknown", f"{name!r} was not measured.", f"Measured: {known}.")
        chosen.append(found)
    if ":" in a or ":" in b:
        return [(x, y) for x in chosen[0][:1] for y in chosen[1][:1]]
    return [(x, y) for x in chosen[0] for y in chosen[1] if x.setting == y.setting]


def compare_saved(a: Evaluation, b: Evaluation, seed: int = 0) -> tuple[MethodComparison, ...]:
    """Each method and setting of `a` against the same one of `b`, on common questions.

    The library may have grown in between: a question counts only where both could answer it.
    """
    of_b = {item.id: item for item in b.items if item.held}
    items = [item for item in a.items if item.held and item.id in of_b]
    pairs = []
    for run in a.runs:
        other = b.run(run.name, run.setting)
        if other is not None:
            pairs.append(
                (
                    msgspec.structs.replace(run, name=f"A {run.name}"),
                    msgspec.structs.replace(other, name=f"B {run.name}"),
                )
            )
    if not pairs or not items:
        raise problem(
            "compare-disjoint",
            "The two evaluations share no method or no question.",
            "Run both on the same data with the same methods.",
        )
    return compare_runs(pairs, items, min(a.depth, b.depth), seed=seed)
