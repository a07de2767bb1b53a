"""From which confidence of the ranker on `fill` should take a model's choice: `llm.pick_threshold`.

`fill.threshold` says what an author accepts: a paper is written where it is right with at least
that probability t, so that a right one is worth 1 - t, a wrong one costs t, and an open placeholder
counts nothing. The threshold for choices is the one that is worth most on the validation papers by
this count; its utility on the test papers is reported with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell_lab.evaluation.statistics import PairedDifference, compare
from citewell_lab.tuning.examples import TuningExample
from citewell_lab.tuning.metric import Measured, Tried

GRID = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class ThresholdFigures(msgspec.Struct, frozen=True):
    """The placeholders that `fill` would fill at one threshold."""

    threshold: float
    passages: int
    filled: int
    right: int
    worth: float
    """Mean over the passages."""


class PickThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """The value of the choices at each threshold, and the best threshold."""

    least: float
    """The setting `fill.threshold`, above which no threshold for choices has an effect."""
    shown_right: int
    """Validation passages whose right paper the model saw, and chose."""
    shown_wrong: int
    shown_none: int
    absent_one: int
    """Those whose right paper it did not see, and for which it chose one."""
    absent_none: int
    failed: int
    valid: tuple[ThresholdFigures, ...]
    valid_ranker: ThresholdFigures
    """The ranker's first paper at `fill.threshold`, without a model."""
    best: float
    test_best: ThresholdFigures
    test_now: ThresholdFigures
    """At the setting `llm.pick_threshold`."""
    test_ranker: ThresholdFigures
    difference: PairedDifference
    """Worth on the test papers: the best threshold against the ranker without a model."""

    @property
    def helps(self) -> bool:
        """True when the choices were worth more than the ranker's own on the validation papers."""
        top = max(one.worth for one in self.valid)
        return top > self.valid_ranker.worth

    def in_words(self) -> list[str]:
        """A few lines for the terminal and the page."""
        seen = self.shown_right + self.shown_wrong + self.shown_none
        unseen = self.absent_one + self.absent_none
        found = [
            f"Validation papers: when shown the right paper ({seen} passages), it chose it "
            f"{self.shown_right} times, another {self.shown_wrong}, none {self.shown_none}; when "
            f"not ({unseen}), it answered none {self.absent_none} times."
        ]
        if self.helps:
            found.append(
                f"`llm.pick_threshold` {self.best:g} has the highest utility (`fill.threshold` "
                f"{self.least:g})."
            )
        else:
            found.append(
                "With no `llm.pick_threshold` do its choices have a higher utility than the "
                "ranker's: `llm.pick = false` loses nothing."
            )
        found.append(
            f"Test papers: {_line(self.test_best)} at {self.best:g}; {_line(self.test_now)} at "
            f"{self.test_now.threshold:g}, the current setting; {_line(self.test_ranker)} by the "
            "ranker alone."
        )
        return found


def fit(
    valid: tuple[Sequence[TuningExample], Measured],
    test: tuple[Sequence[TuningExample], Measured],
    *,
    least: float,
    now: float,
    reach: int,
    seed: int = 0,
) -> PickThreshold | None:
    """The threshold with the highest utility on `valid`, and its utility on `test`.

    `reach` is how many papers the model sees. None without passages, or where no ranker says how
    sure it is.
    """
    everything = [*valid[0], *test[0]]
    if not valid[0] or not test[0] or not all(one.confidence for one in everything):
        return None
    tried = [one for one in GRID if one < least] + [least]
    rows = tuple(_filled(valid, one, least)[0] for one in tried)
    # Of equals the one that takes fewer choices.
    best = max(rows, key=lambda row: (row.worth, row.threshold)).threshold
    pairs = list(zip(valid[0], valid[1].tried, strict=True))
    answered = [(e, t) for e, t in pairs if t.problem is None]
    seen = [(e, t) for e, t in answered if any(place < reach for place in e.right)]
    unseen = [t for e, t in answered if not any(place < reach for place in e.right)]
    right = sum(t.place in e.right for e, t in seen)
    none = sum(t.place < 0 for _, t in seen)
    at_best, of_best = _filled(test, best, least)
    ranker, of_ranker = _filled((test[0], None), least, least)
    return PickThreshold(
        least=least,
        shown_right=right,
        shown_wrong=len(seen) - right - none,
        shown_none=none,
        absent_one=sum(t.place >= 0 for t in unseen),
        absent_none=sum(t.place < 0 for t in unseen),
        failed=len(pairs) - len(answered),
        valid=rows,
        valid_ranker=_filled((valid[0], None), least, least)[0],
        best=best,
        test_best=at_best,
        test_now=_filled(test, min(now, least), least)[0],
        test_ranker=ranker,
        difference=compare(of_best, of_ranker, [one.paper for one in test[0]], seed=seed),
    )


def _filled(
    of: tuple[Sequence[TuningExample], Measured | None], threshold: float, least: float
) -> tuple[ThresholdFigures, NDArray[np.float64]]:
    """The figures at a threshold and the value of each passage; without choices by the ranker."""
    examples, measured = of
    tried: Sequence[Tried | None] = [None] * len(examples) if measured is None else measured.tried
    worth = np.zeros(len(examples))
    filled = right = 0
    for number, (example, one) in enumerate(zip(examples, tried, strict=True)):
        place, wanted = (0, least) if one is None or one.problem else (one.place, threshold)
        if place < 0 or example.confidence[place] < wanted:
            continue
        filled += 1
        right += place in example.right
        worth[number] = 1 - least if place in example.right else -least
    mean = float(worth.mean()) if len(worth) else 0.0
    return ThresholdFigures(threshold, len(examples), filled, right, mean), worth


def _line(one: ThresholdFigures) -> str:
    return f"{one.filled} of {one.passages} filled, {one.right} correct (utility {one.worth:+.3f})"
