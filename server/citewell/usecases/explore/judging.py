"""How likely each paper of a literature search answers the question, and where the list is cut.

A logistic model over what the passes say of a paper: the probabilities that the ranker states in
the two passes that ask with the words, its ranks there, and how many other queries found it. Fitted
on AutoScholarQuery by `citewell_lab.training.literature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from citewell.model import CitewellError, Problem, Work
from citewell.usecases.explore.contract import PassName

# One list out of the answers of all passes: weighted reciprocal ranks.
#
# The first papers and the tail are fused with different weights: papers found by other papers
# extend the list and would displace the best ones. Tuned on the training and tuning questions of
# AutoScholarQuery; docs/exploring.md has the figures of the test part.

RRF_K = 60
HEAD_LENGTH = 20
"""Papers whose order the weights of the head decide."""


class Ranked(msgspec.Struct, frozen=True):
    """The answer to one query of a pass: ids of works, best first."""

    name: PassName
    ids: tuple[str, ...]
    chances: tuple[float | None, ...] = ()
    """The probability that the ranker states of each paper; empty where it states none."""


HEAD: Mapping[PassName, float] = {
    "search": 1.0, "reading": 1.0, "references": 1.0, "papers": 0.1, "aspects": 0.0,
    "citations": 0.02, "sources": 0.5, "chains": 0.02,
}  # fmt: skip
TAIL: Mapping[PassName, float] = {
    "search": 1.0, "reading": 0.6, "references": 1.0, "papers": 0.45, "aspects": 0.1,
    "citations": 0.05, "sources": 0.8, "chains": 0.05,
}  # fmt: skip


def fused(lists: Sequence[Ranked]) -> list[str]:
    """All ids of the lists, each once, best first."""
    tail = TAIL
    if not any(one.name == "references" for one in lists):
        tail = {**TAIL, "search": 2.0}
    head = _order(lists, HEAD)[:HEAD_LENGTH]
    placed = set(head)
    return head + [name for name in _order(lists, tail) if name not in placed]


def _order(lists: Sequence[Ranked], weights: Mapping[PassName, float]) -> list[str]:
    scores: dict[str, float] = {}
    for one in lists:
        for rank, name in enumerate(one.ids, start=1):
            scores[name] = scores.get(name, 0.0) + weights[one.name] / (RRF_K + rank)
    return sorted(scores, key=lambda name: -scores[name])


NAMES = (
    "one", "search_odds", "references_odds", "search_rank", "references_rank", "papers",
    "citations",
)  # fmt: skip
LEAST, MOST = -7.0, 3.0
"""Bounds of the log odds of a stated probability; `LEAST` stands for a paper without one."""
JUDGED = 50
"""Papers whose order the probability decides: those that only other papers led to are unlikely by
it, and extend the list."""
LAST = 800
"""The rank of a paper that an answer lacks."""
_WORDS = ("search", "references")
"""Passes that ask with the words, whose papers have a stated probability."""


class RelevanceJudge:
    """The weights of `NAMES`, and the probability from which a paper is judged relevant."""

    def __init__(self, weights: Sequence[float], cut: float) -> None:
        self._weights = tuple(weights)
        self.cut = cut

    @classmethod
    def read(cls, path: Path) -> RelevanceJudge:
        """Raises `CitewellError` for a file that does not fit."""
        from zipfile import BadZipFile

        import numpy as np

        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                names = tuple(str(name) for name in file["judge_names"])
                weights, cut = file["judge"].tolist(), float(file["cut"])
            if names != NAMES or len(weights) != len(NAMES):
                raise ValueError("it was trained with other features")
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise CitewellError(
                Problem(
                    "ranker-weights",
                    f"The weights for literature questions cannot be read ({error}).",
                    "Reinstall citewell, or set `retrieval.ranker` to none.",
                    path=str(path),
                )
            ) from error
        return cls(weights, cut)

    def chances(self, lists: Sequence[Ranked], ids: Sequence[str]) -> list[float] | None:
        """The probability that each paper answers the question, by the answers so far; None where
        the search for the words states none, as without a ranker."""
        table = judged_features(lists, ids)
        if table is None:
            return None
        return [
            1 / (1 + math.exp(-sum(w * x for w, x in zip(self._weights, row, strict=True))))
            for row in table
        ]


def by_relevance(
    groups: Sequence[list[Work]], chances: Mapping[str, float], cut: float
) -> list[list[Work]]:
    """The groups of editions, those from the `cut` on first, then the `JUDGED` likeliest, then the
    others in their order. `chances`: by the id of a group's first work. A paper without a
    probability keeps its place among those below the cut."""
    judged = [group for group in groups if group[0].id in chances]
    likeliest = sorted(judged, key=lambda group: -chances[group[0].id])
    sure = sum(chances[group[0].id] >= cut for group in judged)
    head = likeliest[: max(JUDGED, sure)]
    placed = {group[0].id for group in head}
    in_turn = iter([*head, *(group for group in judged if group[0].id not in placed)])
    ordered = [next(in_turn) if group[0].id in chances else group for group in groups]
    return sorted(ordered, key=lambda group: chances.get(group[0].id, 0.0) < cut)


def judged_features(lists: Sequence[Ranked], ids: Sequence[str]) -> list[tuple[float, ...]] | None:
    """The values of `NAMES` of each paper; None where no search for the words states a
    probability."""
    if not any(one.name == "search" and one.chances for one in lists):
        return None
    odds: dict[str, dict[str, float]] = {name: {} for name in _WORDS}
    ranks: dict[str, dict[str, int]] = {name: {} for name in _WORDS}
    votes: dict[str, dict[str, float]] = {"papers": {}, "citations": {}}
    for one in lists:
        if one.name in ("search", "references"):
            ranks[one.name] = {name: rank for rank, name in enumerate(one.ids, start=1)}
            odds[one.name] = {
                name: _odds(chance) for name, chance in zip(one.ids, one.chances, strict=False)
            }
            continue
        own = votes.setdefault(one.name, {})
        for rank, name in enumerate(one.ids, start=1):
            own[name] = own.get(name, 0.0) + RRF_K / (RRF_K + rank)
    again = "references" if odds["references"] else "search"
    return [
        (
            1.0,
            odds["search"].get(name, LEAST),
            odds[again].get(name, LEAST),
            math.log2(1 + ranks["search"].get(name, LAST)),
            math.log2(1 + ranks[again].get(name, LAST)),
            votes["papers"].get(name, 0.0),
            votes["citations"].get(name, 0.0),
        )
        for name in ids
    ]


def _odds(chance: float | None) -> float:
    if not chance or chance <= 0:
        return LEAST
    return min(max(math.log(chance / max(1 - chance, 1e-9)), LEAST), MOST)


@cache
def shipped_judge() -> RelevanceJudge:
    """The judge whose weights ship. Raises `CitewellError` where they cannot be read."""
    from citewell.engine.local import LITERATURE

    return RelevanceJudge.read(LITERATURE)
