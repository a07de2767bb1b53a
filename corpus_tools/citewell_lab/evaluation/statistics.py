"""Intervals and tests over papers: the citations of one paper are not independent draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
SIGN_FLIPS = 10_000
_CHUNK = 1_000
"""Rows of a resampling matrix that are held at one time."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean with its 95% bootstrap interval over papers (None: fewer than two papers)."""

    mean: float
    low: float | None = None
    high: float | None = None


class Groups:
    """Values arranged by paper: which paper each question belongs to, for fast resampling."""

    def __init__(self, papers: Sequence[str], *, seed: int = 0) -> None:
        names: dict[str, int] = {}
        index = [names.setdefault(paper, len(names)) for paper in papers]
        self.index: NDArray[np.int64] = np.array(index, np.int64)
        self.counts: NDArray[np.float64] = np.bincount(self.index, minlength=len(names)).astype(
            np.float64
        )
        self.papers = len(names)
        self._seed = seed

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over each paper; `values` has the shape (questions,) or (questions, metrics)."""
        out = np.zeros((self.papers, *values.shape[1:]), np.float64)
        np.add.at(out, self.index, values)
        return out

    @cached_property
    def draws(self) -> NDArray[np.float32]:
        """Shape (resamples, papers): how often each paper is in each resample. Drawn once."""
        rng = np.random.default_rng(self._seed)
        n = self.papers
        out = np.empty((RESAMPLES, n), np.float32)
        for row in out:
            row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
        return out


def bootstrap(values: NDArray[np.float64], groups: Groups) -> list[tuple[Estimate, Estimate]]:
    """Per metric the mean per question and the mean per paper, with 95% percentile intervals.

    `values` has the shape (questions, metrics). Whole papers are drawn with replacement (Efron
    1979, clustered). The mean per question is a ratio of sums, so a paper with many questions
    moves it as much as it should.
    """
    metrics = values.shape[1]
    if len(values) == 0:
        return [(Estimate(0.0), Estimate(0.0))] * metrics
    sums = groups.sums(values)
    means = sums / groups.counts[:, None]
    records, papers = values.mean(axis=0), means.mean(axis=0)
    if groups.papers < 2:
        return [
            (Estimate(float(r)), Estimate(float(p))) for r, p in zip(records, papers, strict=True)
        ]
    draws = groups.draws
    by_record = (draws @ sums) / (draws @ groups.counts)[:, None]
    by_paper = (draws @ means) / groups.papers
    record_ends = np.percentile(by_record, [2.5, 97.5], axis=0)
    paper_ends = np.percentile(by_paper, [2.5, 97.5], axis=0)
    return [
        (
            Estimate(float(records[m]), float(record_ends[0, m]), float(record_ends[1, m])),
            Estimate(float(papers[m]), float(paper_ends[0, m]), float(paper_ends[1, m])),
        )
        for m in range(metrics)
    ]


class PairedDifference(msgspec.Struct, frozen=True):
    """The lead of A over B on the same questions, and its probability by chance."""

    difference: float
    """Mean of A minus mean of B, per question."""
    low: float | None
    high: float | None
    p: float
    """Two-sided, from a paired randomisation test."""
    unit: str
    """The unit that was flipped: "paper", or "question" if there is one paper only."""
    units: int


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    papers: Sequence[str],
    *,
    seed: int = 0,
    flips: int = SIGN_FLIPS,
) -> PairedDifference:
    """Paired randomisation test of A against B (Smucker, Allan and Carterette 2007).

    Under the null hypothesis the two methods are exchangeable, so the sign of each paper's summed
    difference is a coin toss. `a` and `b` have the shape (questions,) in the same order.
    """
    if a.shape != b.shape or len(a) != len(papers):
        raise ValueError("A and B must hold the same questions")
    if len(a) == 0:
        return PairedDifference(0.0, None, None, 1.0, "question", 0)
    units, unit = list(papers), "paper"
    if len(set(units)) < 2:
        units, unit = [str(n) for n in range(len(a))], "question"
    groups = Groups(units, seed=seed)
    differences = a - b
    sums = groups.sums(differences)
    observed = abs(float(sums.sum()))
    rng = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, flips, _CHUNK):
        rows = min(_CHUNK, flips - start)
        signs = rng.integers(0, 2, size=(rows, len(sums)), dtype=np.int8) * 2 - 1
        # The slack keeps rounding from turning a tie into a smaller value.
        extreme += int((np.abs(signs @ sums) >= observed - 1e-12).sum())
    interval, _ = bootstrap(differences[:, None], groups)[0]
    p = (1 + extreme) / (1 + flips)
    return PairedDifference(
        float(differences.mean()), interval.low, interval.high, p, unit, groups.papers
    )


def correct_p(values: Sequence[float]) -> list[float]:
    """p-values after Holm's correction for the number of comparisons, in the same order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [1.0] * len(values)
    running = 0.0
    for position, i in enumerate(order):
        running = max(running, min(1.0, values[i] * (len(values) - position)))
        out[i] = running
    return out
