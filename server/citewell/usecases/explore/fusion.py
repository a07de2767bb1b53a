"""One list out of the answers of all passes: weighted reciprocal ranks.

The first papers and the tail are fused with different weights: papers found by other papers extend
the list and would displace the best ones. Tuned on the training and tuning questions of
AutoScholarQuery; docs/exploring.md has the figures of the test part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from citewell.usecases.explore.contract import PassName

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
