"""The order of papers for a literature question: the head's score and the agreement within the
list.

A question for the literature has several answers, which resemble each other: papers near the best
ones, or cited with them, are likelier answers. A linear model over the head's score and such
features, fitted to the listwise likelihood of the answers of AutoScholarQuery by
`citewell_lab.training.literature`; a logistic one gives the probability that a paper is an answer.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.ranking.contract import Ordering, weights_file
from citewell.ranking.features import UNKNOWN, places

NAMES = (
    "centre", "nearest", "cocited_10", "cocited_20", "coverage", "popularity", "head_rank", "newer",
    "has_abstract", "dense_rank",
)  # fmt: skip
"""Features beside the head's score; each is standardised within its list."""
CONSIDERED = 450
"""Number of best candidates by the head's score that the model orders; the others follow."""
CLOSE, COMPANY, AGE = 10, 20, 20
"""Number of first papers by the head's score used for likeness, for co-citation, and for the median
year of the question."""
MOST = 4.0
"""Bound of a standardised feature."""


class LiteratureInputs(msgspec.Struct, frozen=True):
    """The known data of n candidates, best by the head's score first, shapes (n,)."""

    head: NDArray[np.float32]
    vectors: NDArray[np.float32]
    """Shape (n, d), of length 1."""
    full: NDArray[np.float32]
    """Cosine of the question's and the paper's vectors."""
    cocited_10: NDArray[np.float32]
    """Count of others' citations of it together with the first 10; 0 if unknown."""
    cocited_20: NDArray[np.float32]
    coverage: NDArray[np.float32]
    popularity: NDArray[np.float32]
    """`UNKNOWN` for papers without priors."""
    year: NDArray[np.int16]
    """0 if unknown."""
    abstract: NDArray[np.bool_]


def literature_features(listed: LiteratureInputs) -> NDArray[np.float64]:
    """Shape (n, len(NAMES)), each feature standardised over the list, 0 if unknown."""
    count = len(listed.head)
    first = min(CLOSE, count)
    centre = np.exp(-np.arange(first) / CLOSE) @ listed.vectors[:first]
    centre = centre / max(float(np.linalg.norm(centre)), 1e-6)
    likeness = listed.vectors @ listed.vectors[:first].T
    if first > 1:
        # A paper is no evidence for itself.
        np.fill_diagonal(likeness[:first], -1.0)
    known = listed.year[:AGE][listed.year[:AGE] > 0]
    middle = float(np.median(known)) if len(known) else 0.0
    newer = np.where((listed.year > 0) & (middle > 0), listed.year - middle, np.nan)
    columns = (
        listed.vectors @ centre,
        likeness.max(axis=1, initial=-1.0),
        listed.cocited_10,
        listed.cocited_20,
        listed.coverage,
        np.where(listed.popularity <= UNKNOWN, np.nan, listed.popularity),
        places(listed.head),
        newer,
        listed.abstract,
        places(listed.full),
    )
    return np.column_stack([_standardised(np.asarray(one, np.float64)) for one in columns])


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(len(values))
    scaled = (values - known.mean()) / (known.std() + 1e-3)
    return np.asarray(np.nan_to_num(np.clip(scaled, -MOST, MOST)), np.float64)


def calibration_inputs(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (n, 4): one, the score, the logarithm of its softmax share, and of its rank."""
    best = scores.max(initial=0.0)
    share = scores - best - np.log(np.exp(scores - best).sum())
    return np.column_stack([np.ones(len(scores)), scores, share, places(scores.astype(np.float32))])


class LiteratureModel:
    """The trained weights of the order and of the probability."""

    def __init__(self, order: NDArray[np.float64], calibration: NDArray[np.float64]) -> None:
        """`order`: a weight for each of `NAMES`, and that of the head's score."""
        self.order = order
        self.calibration = calibration

    @classmethod
    def read(cls, path: Path) -> LiteratureModel:
        """Raises `CitewellError` for a file that does not fit."""
        with weights_file(path, "The weights for literature questions") as file:
            names = tuple(str(name) for name in file["names"])
            order = file["order"].astype(np.float64)
            calibration = file["calibration"].astype(np.float64)
            if names != NAMES or order.shape != (len(NAMES) + 1,) or calibration.shape != (4,):
                raise ValueError("it was trained with other features")
        return cls(order, calibration)

    def scores(self, head: NDArray[np.float32], table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each candidate, shape (n,)."""
        return np.asarray(table @ self.order[:-1] + head * self.order[-1], np.float64)

    def ordering(
        self, best: NDArray[np.int64], head: NDArray[np.float32], table: NDArray[np.float64]
    ) -> Ordering:
        """Order all candidates. `best`: positions of those described in `table`, in its order;
        `head`: the head's score of every candidate."""
        scores = np.asarray(head, np.float64).copy()
        scores[best] = self.scores(head[best], table)
        rest = np.ones(len(head), np.bool_)
        rest[best] = False
        if rest.any():
            scores[rest] += scores[best].min() - 1 - scores[rest].max()
        order = np.lexsort((np.arange(len(scores)), -scores))
        inputs = calibration_inputs(scores[order[: len(best)]])
        confidence = np.zeros(len(scores), np.float32)
        confidence[: len(best)] = 1 / (1 + np.exp(-inputs @ self.calibration))
        return Ordering(order, scores[order].astype(np.float32), confidence)
