"""Quality of an order of candidates as one number: recall@5, 10 and 20 and reciprocal rank.

A program that picks is measured by the order that follows from its pick: the picked paper first,
the others as they were. "None of them" takes a place of its own before all of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.llm.assistant import LanguageModel
from citewell.model import Problem
from citewell.model.llm import Usage
from citewell.options.online import LlmOptions
from citewell_lab.tuning import Tunable
from citewell_lab.tuning.examples import TuningExample

CUTS = (5, 10, 20)
_WEIGHT = re.compile(r"\s*(mrr|recall@(?:5|10|20))\s*=\s*(\d*\.?\d+)\s*", re.IGNORECASE)


class MetricWeights(msgspec.Struct, frozen=True):
    """Shares of the parts in the metric; divided by their sum."""

    recall5: float = 0.3
    recall10: float = 0.2
    recall20: float = 0.1
    mrr: float = 0.4

    @property
    def vector(self) -> NDArray[np.float64]:
        """Shape (4,): recall@5, recall@10, recall@20, reciprocal rank; sums to 1."""
        raw = np.array([self.recall5, self.recall10, self.recall20, self.mrr])
        total: float = raw.sum()
        return raw / total

    @classmethod
    def parse(cls, text: str) -> MetricWeights:
        """Weights of "mrr=1, recall@5=0.5"; parts that are not named count nothing.

        Raises `ValueError` for other text, and when all are 0.
        """
        found = {"recall5": 0.0, "recall10": 0.0, "recall20": 0.0, "mrr": 0.0}
        for part in text.split(","):
            match = _WEIGHT.fullmatch(part)
            if match is None:
                raise ValueError(f"{part.strip()!r} is no weight: write mrr=0.4,recall@5=0.6")
            found[match[1].lower().replace("@", "")] = float(match[2])
        if not any(found.values()):
            raise ValueError("all weights are 0")
        return cls(**found)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one program for one example."""

    id: str
    paper: str
    rank: int = 0
    """Rank of the right paper, from 1; 0 if it is not in the order."""
    place: int = -1
    """Place of the paper that a model chose, from 0; -1 if it chose none or was not asked to."""
    seconds: float = 0.0
    usage: Usage = Usage()
    problem: Problem | None = None
    """Why the model gave no answer of its own: the order is the ranker's."""

    @property
    def first(self) -> bool:
        """True when a right paper stands first."""
        return self.rank == 1


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One program on many examples."""

    tried: tuple[Tried, ...]

    def values(self, weights: MetricWeights) -> NDArray[np.float64]:
        """Shape (examples,): the metric of each."""
        return parts_of([one.rank for one in self.tried]) @ weights.vector

    def mean(self, weights: MetricWeights) -> float:
        """The metric over all examples; 0 without any."""
        return float(self.values(weights).mean()) if self.tried else 0.0

    def figures(self) -> dict[str, float]:
        """Each part of the metric, how often the right paper stood first, and how often the model
        failed."""
        if not self.tried:
            return {}
        means = parts_of([one.rank for one in self.tried]).mean(axis=0)
        names = (*(f"recall@{cut}" for cut in CUTS), "mrr")
        out = dict(zip(names, (float(mean) for mean in means), strict=True))
        out["first"] = sum(one.first for one in self.tried) / len(self.tried)
        out["failed"] = sum(one.problem is not None for one in self.tried) / len(self.tried)
        return out

    @property
    def usage(self) -> Usage:
        """The total cost."""
        total = Usage()
        for one in self.tried:
            total = total.plus(one.usage)
        return total


def reach_of(program: Tunable, options: LlmOptions) -> int:
    """Number of papers of a list that the program reads."""
    return options.pick_depth if program == "pick" else options.rerank_depth


def parts_of(ranks: Sequence[int]) -> NDArray[np.float64]:
    """Shape (examples, 4): recall@5, 10, 20 and the reciprocal rank, of ranks from 1 (0: none)."""
    rank = np.asarray(ranks, np.float64).reshape(-1, 1)
    there = rank > 0
    recall = there & (rank <= np.array(CUTS))
    reciprocal = np.where(there, 1 / np.maximum(rank, 1), 0.0)
    return np.hstack([recall.astype(np.float64), reciprocal])


def rank_of(order: Sequence[int], right: Sequence[int]) -> int:
    """Rank from 1 of the first right place in an order; 0 when there is none."""
    return next((rank for rank, place in enumerate(order, 1) if place in right), 0)


def untouched(examples: Sequence[TuningExample]) -> Measured:
    """The ranker's own order of the same candidates, without any model."""
    return Measured(
        tried=tuple(
            Tried(
                id=one.id,
                paper=one.paper,
                rank=rank_of(range(len(one.works)), one.right),
            )
            for one in examples
        )
    )


def measure(
    model: LanguageModel,
    program: Tunable,
    examples: Sequence[TuningExample],
    *,
    advance: Callable[[int], None] | None = None,
) -> Measured:
    """Put every example to the program that `model` has in use, as an author's passage would be."""
    tried = []
    for example in examples:
        begin = time.perf_counter()
        rank, place, usage, problem = _ask(model, program, example)
        tried.append(
            Tried(
                id=example.id,
                paper=example.paper,
                rank=rank,
                place=place,
                seconds=time.perf_counter() - begin,
                usage=usage,
                problem=problem,
            )
        )
        if advance is not None:
            advance(1)
    return Measured(tried=tuple(tried))


def _ask(
    model: LanguageModel, program: Tunable, example: TuningExample
) -> tuple[int, int, Usage, Problem | None]:
    """The right paper's rank, the place of the chosen one, what it cost, and why the order is the
    ranker's."""
    before = tuple(range(len(example.works)))
    if program == "pick":
        picked = model.pick(example.query, example.works)
        if not picked.work:
            rank = rank_of(before, example.right)
            return rank + bool(rank), -1, picked.usage, picked.problem
        place = next(p for p, work in enumerate(example.works) if work.id == picked.work)
        order = (place, *(p for p in before if p != place))
        return rank_of(order, example.right), place, picked.usage, picked.problem
    head = example.works[: model.options.rerank_depth]
    ranked = model.rank(example.query, head)
    order = (*(ranked.order or before[: len(head)]), *before[len(head) :])
    return rank_of(order, example.right), -1, ranked.usage, ranked.problem
