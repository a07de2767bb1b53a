"""The probability that the papers of a list are the ones that a citing sentence cites.

A logistic model over a candidate's score and its distance from the others, features of the ranker,
and names in the sentence at the place and beside it (`named`). Fitted by
`citewell_lab.training.confidence` on citations of papers that trained neither the ranker nor the
encoder, with and without an answer, in large and in small libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.ranking.contract import Calibrate, weights_file
from citewell.ranking.features import UNKNOWN
from citewell.ranking.named import NAMES as NAMED

FROM_RANKER = (
    "bm25_rank", "full_rank", "bm25_near_rank", "memory_rank", "memory_popularity",
    "memory_passage_best", "memory_passage_share", "memory_cocited_share", "profile_best",
    "profile_share", "title_in_sentence", "title_near", "title_whole", "opening_near",
    "initials_near", "first_author_near", "authors_named", "year_named", "words_matched",
    "sentence_explained", "nearby_cocited_share", "nearby_best", "full", "others",
    "sentence_words", "company_best", "mark_place", "title_words",
)  # fmt: skip
"""The ranker's features that the confidence depends on; 0 if unknown."""
ABSENCES = ("memory_popularity", "nearby_best")
"""Features with a separate indicator of absence: no citation of the paper is known; nothing is
cited here yet."""
SHAPES = (
    "score", "share", "lead", "few", "few_score", "few_share", "few_lead",
)  # fmt: skip
"""Features of the scores of a list. "few": the list's distance from a full one, since a paper
without rivals leads only because they are missing."""
FULL_LIST = 300
"""Minimum number of candidates of a full list."""
WIDEST_LEAD = 5.0
MOST_SURE = 0.99
"""Upper bound of the confidence: a later edition may be the one cited."""

INPUTS = ("one", *SHAPES, *FROM_RANKER, *NAMED, *(f"no_{name}" for name in ABSENCES))


class SentenceConfidence:
    """The trained file: one weight for each of `INPUTS`."""

    def __init__(self, path: Path) -> None:
        with weights_file(path, "The weights of the confidence") as file:
            self.weights = file["weights"].astype(np.float64)
            names = tuple(str(name) for name in file["names"])
            if names != INPUTS or self.weights.shape != (len(INPUTS),):
                raise ValueError("it was trained with other inputs")
            if not np.isfinite(self.weights).all():
                raise ValueError("its numbers are not finite")

    def of(self, scores: NDArray[np.float32], known: NDArray[np.float64]) -> NDArray[np.float32]:
        """Probability of each candidate, shape (n,), from all scores of the list and the
        `known_inputs` of the candidates."""
        inputs = np.concatenate([shapes(scores), known], axis=1)
        odds = np.clip(inputs @ self.weights, -50, 50)
        return np.asarray(np.minimum(1 / (1 + np.exp(-odds)), MOST_SURE), np.float32)


def lowest(scores: NDArray[np.float32], calibrations: Sequence[Calibrate]) -> NDArray[np.float32]:
    """The lowest of several confidences, shape (n,): a paper that is written unattended must pass
    all."""
    found = np.stack([calibrate(scores) for calibrate in calibrations])
    return np.asarray(found.min(axis=0), np.float32)


def shapes(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Shape (n, 1 + len(SHAPES)): one, and the features of each candidate's score."""
    plain = scores.astype(np.float64)
    if not len(plain):
        return np.zeros((0, 1 + len(SHAPES)))
    best = np.sort(plain)[::-1][:2]
    share = plain - best[0] - np.log(np.exp(plain - best[0]).sum())
    rival = np.where(plain >= best[0], best[-1], best[0])
    lead = np.clip(plain - rival, -WIDEST_LEAD, WIDEST_LEAD)
    few = np.full(len(plain), max(np.log(FULL_LIST / len(plain)), 0.0))
    return np.stack(
        [np.ones(len(plain)), plain, share, lead, few, few * plain, few * share, few * lead],
        axis=1,
    )


def known_inputs(
    table: NDArray[np.float32], names: tuple[str, ...], named: NDArray[np.float32]
) -> NDArray[np.float64]:
    """The inputs beside the scores, from the ranker's features by name and from `named`, one row a
    candidate."""
    columns = table[:, [names.index(name) for name in FROM_RANKER]].astype(np.float64)
    absent = table[:, [names.index(name) for name in ABSENCES]] <= UNKNOWN
    columns = np.where(columns <= UNKNOWN, 0.0, columns)
    return np.concatenate([columns, named.astype(np.float64), absent], axis=1)
