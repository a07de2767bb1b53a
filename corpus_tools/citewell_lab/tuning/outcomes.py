"""Authors' reactions to the suggestions of each program version: the result of a trial in use.

Read from the store of accepted and dismissed suggestions; each says by its variant which programs
had a hand in the list. An author who accepted a paper passed over those above it: so each choice
has a rank.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from citewell.model.feedback import Event

_PROGRAM = re.compile(r"\b(pick|rank|verify|reformulate)@([A-Za-z0-9][A-Za-z0-9._-]{0,63})")
_Z = 1.959964
"""Normal quantile of a 95% interval."""


class Outcome(msgspec.Struct, frozen=True):
    """One version of one program in use."""

    program: str
    version: str
    accepted: int
    first: float
    """Share of the accepted suggestions that stood first."""
    low: float
    """Lower bound of its 95% interval (Wilson 1927)."""
    high: float
    mrr: float
    """Mean reciprocal rank of what was accepted."""


def outcomes(events: Iterable[Event]) -> list[Outcome]:
    """Every version with an accepted suggestion, by program and name.

    Suggestions of one list bear the same moment and variant: those that were dismissed with an
    accepted one stood above it.
    """
    above: dict[tuple[float, str], int] = defaultdict(int)
    accepted: list[Event] = []
    for event in events:
        if event.kind == "accepted":
            accepted.append(event)
        else:
            above[event.time, event.variant] += 1
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for event in accepted:
        for program, version in dict.fromkeys(_PROGRAM.findall(event.variant)):
            ranks[program, version].append(1 + above[event.time, event.variant])
    return [_outcome(*name, found) for name, found in sorted(ranks.items())]


def _outcome(program: str, version: str, ranks: list[int]) -> Outcome:
    first = sum(rank == 1 for rank in ranks)
    low, high = wilson(first, len(ranks))
    mrr = sum(1 / rank for rank in ranks) / len(ranks)
    return Outcome(program, version, len(ranks), first / len(ranks), low, high, mrr)


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927); the whole range without any trial."""
    if not count:
        return 0.0, 1.0
    share, square = hits / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = (
        _Z / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    )
    return max(0.0, middle - half), min(1.0, middle + half)
