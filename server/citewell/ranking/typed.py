"""The order of the papers found by typed words: trees over features of the words, and the head's
score.

LambdaMART like the head, trained by `citewell_lab.training.typed` on words derived from cited
works, with monotone splits: a better match never lowers a candidate. Its own calibration gives the
probability that the first paper is the one that the words mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.ranking.contract import Ordering, weights_file
from citewell.ranking.identity import Bounds, unbounded
from citewell.ranking.trees import Trees
from citewell.ranking.typed_features import NAMES

RRF_K = 60.0
RRF_RANKS = ("bm25_rank", "likeness_rank", "head_rank", "explained_rank")
"""Features, log2(1 + rank), fused to smooth the trees."""
SMOOTH = 0.3
"""Weight of this fusion, which separates candidates that the trees score equally."""
KEPT = 60
"""Number of best candidates by each of these ranks that the trees score."""
EXACT = 20.0
"""Added to the score of a paper with the typed text as its whole title, so that it ranks first."""
CALLED = 5.0
"""Added to the score of a paper with exactly the typed name, times the square root of its share of
the users of the name. The confidence ignores it: a paper whose name many papers share ranks first,
but not with certainty."""
UNNAMED = 6.0
"""Subtracted from the score of a paper without a typed word, if another paper has one: the sentence
alone never lifts a paper above those that the words name."""
WIDEST_GAP = 5.0
MOST_SURE = 0.995
"""Upper bound of the confidence: another paper may have the same name."""
RIVALS = 30
"""Number of best scores over which a candidate's share is computed."""
CALIBRATION = (
    "exact", "typed_explained", "title_covered", "both_covered", "in_order", "author_and_year",
    "opening_whole", "words", "in_sentence", "rarest_explained", "unexplained", "head", "head_gap",
    "called", "called_whole", "called_gap", "year", "bm25_share", "rarest_in_title", "likeness",
    "likeness_gap",
)  # fmt: skip
"""Features of a candidate used for its confidence beside the scores."""


class TypedModel:
    """The trained file: trees, the names of their features, and the calibration."""

    def __init__(self, path: Path) -> None:
        with weights_file(path, "The weights for typed words") as file:
            self.trees = _trees_of(file)
            self.calibration = file["calibration"].astype(np.float64)
            self.short_calibration = file["short_calibration"].astype(np.float64)
            names = tuple(str(name) for name in file["names"])
            if names != NAMES:
                raise ValueError("it was trained with other features")
            if int(self.trees.feature.max(initial=0)) >= len(names):
                raise ValueError("a tree asks for a feature that does not exist")
            shapes = {self.calibration.shape, self.short_calibration.shape}
            if shapes != {(calibration_width(),)}:
                raise ValueError("its calibration has another length")

    def order(self, table: NDArray[np.float32], trusted: Bounds | None = None) -> Ordering:
        """Order the candidates of one query, by their features of shape (n, len(NAMES)); `trusted`
        bounds the confidence of each (None: by the calibration alone)."""
        trusted = trusted or unbounded(len(table))
        kept = hopeful(table, trusted.bonus > 0)
        scores = _fused(table)
        scores[kept] = typed_scores(self.trees, table[kept]) + trusted.bonus[kept]
        rest = np.ones(len(table), np.bool_)
        rest[kept] = False
        if rest.any():
            scores[rest] += scores[kept].min() - 1 - scores[rest].max()
        order = np.lexsort((np.arange(len(scores)), -scores))
        head = order[: len(kept)]
        own, within = table[head], trusted.take(head)

        def calibrate(changed: NDArray[np.float32]) -> NDArray[np.float32]:
            out = np.zeros(len(changed), np.float32)
            if len(own):
                inputs = calibration_inputs(changed[: len(own)] - within.bonus, own)
                sure = 1 / (1 + np.exp(-inputs @ self.calibration))
                if len(own) < KEPT:
                    # The other calibration knows short lists only as a lack of rivals.
                    short = np.clip(inputs @ self.short_calibration, -50, 50)
                    sure = np.minimum(sure, 1 / (1 + np.exp(-short)))
                sure = np.clip(sure, within.lowest, within.highest)
                out[: len(own)] = np.minimum(sure, MOST_SURE)
            return out

        return Ordering(order, scores[order], calibrate(scores[order]), calibrate)


def read_trees(path: Path) -> tuple[Trees, NDArray[np.float64]]:
    """The trees of a file and their calibration for whole lists; raises numpy's errors."""
    with np.load(path, allow_pickle=False) as file:
        return _trees_of(file), file["calibration"].astype(np.float64)


def _trees_of(file: Mapping[str, Any]) -> Trees:
    return Trees(file["feature"], file["threshold"], file["leaf"])


def hopeful(
    table: NDArray[np.float32], named: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Ascending indices of the candidates that the trees score: the best by each of `RRF_RANKS`,
    and the `named` ones.

    The others are very unlikely; they follow in the order of the fusion.
    """
    keep = np.zeros(len(table), np.bool_) if named is None else named.copy()
    for name in RRF_RANKS:
        keep[np.argsort(table[:, NAMES.index(name)], kind="stable")[:KEPT]] = True
    return np.flatnonzero(keep)


def typed_scores(trees: Trees, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The trees' sum plus a weighted logarithm of the fusion of `RRF_RANKS`, shape (n,), raised for
    exactly named candidates and lowered for those not named at all."""
    named = _named(table)
    unnamed = UNNAMED * ~named if named.any() else 0.0
    scores = trees.predict(table) + _fused(table) + _whole(table) - unnamed
    return np.asarray(scores, np.float32)


def _whole(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The bonus of candidates with the typed text as their whole title or name, shape (n,)."""
    called = np.sqrt(table[:, NAMES.index("called_whole")])
    return np.asarray(EXACT * table[:, NAMES.index("exact")] + CALLED * called, np.float32)


def _named(table: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mask of the candidates with a typed word: in title, names or year, or by BM25 in the
    abstract."""
    columns = [NAMES.index("typed_explained"), NAMES.index("bm25_share")]
    return np.asarray((table[:, columns] > 0).any(axis=1))


def _fused(table: NDArray[np.float32]) -> NDArray[np.float32]:
    fused = np.zeros(len(table), np.float64)
    for name in RRF_RANKS:
        # The rank itself is 2 ** feature - 1.
        fused += 1 / (RRF_K - 1 + np.exp2(table[:, NAMES.index(name)].astype(np.float64)))
    return np.asarray(SMOOTH * np.log(fused), np.float32)


def calibration_width() -> int:
    """Number of values of `calibration_inputs` for a candidate."""
    return len(_SHAPES) + len(CALIBRATION)


_SHAPES = (
    "one", "score", "share", "lead", "odds", "all_explained", "explained_squared", "wrong_year",
    "log_words", "known_popularity", "only_named", "log_ties", "named_ties", "named_odds",
    "sentence_ties", "few", "few_share", "few_lead", "few_explained", "few_covered",
    "explains_more", "sentence_head_gap", "sentence_head", "sentence_typed_in_title",
)  # fmt: skip
"""Further values of `calibration_inputs`. "few": the list's distance from one of `KEPT` papers,
since a paper without rivals leads only because they are missing."""


def calibration_inputs(
    scores: NDArray[np.float32], table: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Shape (n, calibration_width()): for the score, its softmax share and its lead over the best
    other one; the number of candidates that explain the typed words as well; and the features in
    `CALIBRATION`."""

    def column(name: str) -> NDArray[np.float64]:
        return table[:, NAMES.index(name)].astype(np.float64)

    plain = scores.astype(np.float64) - _whole(table)
    best = np.sort(plain)[::-1][:RIVALS]
    share = plain - best[0] - np.log(np.exp(best - best[0]).sum())
    second = best[1] if len(best) > 1 else best[0] - 5
    lead = np.clip(plain - np.where(plain >= best[0], second, best[0]), -5, 5)
    explained = column("typed_explained")
    fit = explained + column("opening_whole") + 0.5 * (column("first_author") > 0)
    ties = np.log1p(np.searchsorted(np.sort(-fit), 1e-6 - fit, side="right"))
    # A surname and a year alone also fit papers missing from the library.
    named = column("any_author") * (column("typed_in_title") < 0.01)
    shapes = (
        np.ones(len(plain)), plain, share, lead, np.exp(share), explained > 0.999, explained**2,
        column("year") < 0, np.log1p(column("words")), np.maximum(column("popularity"), 0), named,
        ties, named * ties, named * np.exp(share), ties * column("in_sentence"),
        *_beside_rivals(table, share, lead),
    )  # fmt: skip
    return np.column_stack([*shapes, *(column(name) for name in CALIBRATION)])


def _beside_rivals(
    table: NDArray[np.float32], share: NDArray[np.float64], lead: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """How few others there are, how much more of the words a candidate explains than the best
    other, and the evidence of the sentence, each of shape (n,)."""

    def column(name: str) -> NDArray[np.float64]:
        return table[:, NAMES.index(name)].astype(np.float64)

    few = max(float(np.log(KEPT / max(len(table), 1))), 0.0)
    explained = column("typed_explained")
    yield np.full(len(table), few)
    yield from (few * share, few * lead, few * explained, few * column("both_covered"))
    fit = explained + 0.5 * (
        column("both_covered") + (column("first_author") > 0) + np.maximum(column("year"), 0)
    )
    best = np.sort(fit)[::-1][:2]
    rival = best[1] if len(best) > 1 else 0.0
    yield fit - np.where(fit >= best[:1].max(initial=0.0), rival, best[:1].max(initial=0.0))
    inside = column("in_sentence")
    yield inside * np.clip(column("head_gap"), -WIDEST_GAP, 0)
    yield inside * column("head")
    yield inside * column("typed_in_title")
