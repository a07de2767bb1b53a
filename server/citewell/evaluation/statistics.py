"""Intervals and tests over papers: the citations of one paper are not independent draws."""

from __future__ import annotations

from collections.abc import Sequence

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

    def __init__(self, papers: Sequence[str]) -> None:
        names, index = np.unique(np.asarray(papers, dtype=object).astype(str), return_inverse=True)
        self.names = [str(name) for name in names]
        self.index: NDArray[np.int64] = index.astype(np.int64)
        self.counts: NDArray[np.float64] = np.bincount(index, minlength=len(names)).astype(float)

    def __len__(self) -> int:
        return len(self.names)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the values of each paper; `values` has the shape (questions,)."""
        return np.bincount(self.index, weights=values, minlength=len(self)).astype(float)


def bootstrap(
    values: NDArray[np.float64], groups: Groups, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimate, Estimate]:
    """The mean per question and the mean per paper, each with its 95% percentile interval.

    Whole papers are drawn with replacement (Efron 1979, clustered). The mean per question is a
    ratio of sums, so a paper with many questions moves it as much as it should.
    """
    if len(values) == 0:
        return Estimate(0.0), Estimate(0.0)
    sums = groups.sums(values)
    means = sums / groups.counts
    by_record, by_paper = float(values.mean()), float(means.mean())
    n = len(groups)
    if n < 2:
        return Estimate(by_record), Estimate(by_paper)
    rng = np.random.default_rng(seed)
    record_draws, paper_draws = [], []
    for start in range(0, resamples, _CHUNK):
        rows = min(_CHUNK, resamples - start)
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=rows).astype(np.float64)
        record_draws.append((weights @ sums) / (weights @ groups.counts))
        paper_draws.append((weights @ means) / n)
    record_low, record_high = np.percentile(np.concatenate(record_draws), [2.5, 97.5])
    paper_low, paper_high = np.percentile(np.concatenate(paper_draws), [2.5, 97.5])
    return (
        Estimate(by_record, float(record_low), float(record_high)),
        Estimate(by_paper, float(paper_low), float(paper_high)),
    )


class Difference(msgspec.Struct, frozen=True):
    """How far A stands above B on the same questions, and how likely chance does as much."""

    difference: float
    """Mean of A minus mean of B, per question."""
    low: float | None
    high: float | None
    p: float
    """Two-sided, from a paired randomisation test."""
    unit: str
    """What was flipped: "paper", or "question" where there is one paper only."""
    units: int


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    papers: Sequence[str],
    *,
    seed: int = 0,
    flips: int = SIGN_FLIPS,
) -> Difference:
    """Paired randomisation test of A against B (Smucker, Allan and Carterette 2007).

    Under the null hypothesis the two methods are exchangeable, so the sign of each paper's summed
    difference is a coin toss. `a` and `b` have the shape (questions,) in the same order.
    """
    if a.shape != b.shape or len(a) != len(papers):
        raise ValueError("A and B must hold the same questions")
    if len(a) == 0:
        return Difference(0.0, None, None, 1.0, "question", 0)
    units, unit = list(papers), "paper"
    if len(set(units)) < 2:
        units, unit = [str(n) for n in range(len(a))], "question"
    groups = Groups(units)
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
    interval, _ = bootstrap(differences, groups, seed=seed)
    p = (1 + extreme) / (1 + flips)
    return Difference(float(differences.mean()), interval.low, interval.high, p, unit, len(groups))


def correct_p(values: Sequence[float]) -> list[float]:
    """p-values after Holm's correction for the number of comparisons, in the same order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [1.0] * len(values)
    running = 0.0
    for position, i in enumerate(order):
        running = max(running, min(1.0, values[i] * (len(values) - position)))
        out[i] = running
    return out
