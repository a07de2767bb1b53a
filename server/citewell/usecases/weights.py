"""An order of papers by relevance, authority and age, with weights that the user gives."""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from citewell.engine.contract import Authority, Engine
from citewell.model import CitewellError, Evidence, Problem, SearchResult, Work

WEIGHED = 100
"""Number of papers that are weighed: the most relevant ones."""
HALF_LIFE = 5
"""Years after which a paper counts half as recent."""
NAME = "weights"
HINT = "Write for example relevance=1,authority=0.3,recent=0.2: numbers from 0 to 10, one above 0."


class OrderWeights(msgspec.Struct, frozen=True):
    """The weights of three values of a paper, each from 0 to 1."""

    relevance: float = 1.0
    authority: float = 0.0
    recent: float = 0.0


def order_weights(text: str) -> OrderWeights | None:
    """The weights of "relevance=1,authority=.3,recent=.2"; a missing one has its default. None for
    an empty text. Raises `CitewellError` for any other."""
    if not text.strip():
        return None
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in OrderWeights.__struct_fields__:
            raise _wrong(f"{name[:40]!r} has no weight.")
        if name in given:
            raise _wrong(f"{name} is given twice.")
        try:
            given[name] = float(number)
        except ValueError:
            raise _wrong(f"{number[:40]!r} is no number.") from None
        if not 0 <= given[name] <= 10:
            raise _wrong(f"{name}={number[:40]} is not between 0 and 10.")
    weights = OrderWeights(**given)
    if not sum(msgspec.structs.astuple(weights)):
        raise _wrong("All weights are 0.")
    return weights


def _wrong(message: str) -> CitewellError:
    return CitewellError(Problem("weights-invalid", f"The weights cannot be read: {message}", HINT))


def weighted(
    engine: Engine, works: Sequence[Work], weights: OrderWeights
) -> tuple[list[int], list[str]]:
    """The new order of works, as indices, and for each work, in the old order, its values in words;
    "" for those after the first `WEIGHED`, which keep their places.

    Relevance falls with the place as in nDCG. Authority is the mean share of the other papers of
    the list with fewer citations a year, of other venues whose works have fewer, and of other
    papers whose authors have fewer, as far as known.
    """
    head = works[:WEIGHED]
    now = datetime.date.today().year
    known = engine.authority([work.id for work in head]) if weights.authority else []
    rates = [_rate(one, work, now) for one, work in zip(known, head, strict=False)]
    ranks = [_shares(rates), _shares([float(one.authors) for one in known])]
    total = sum(msgspec.structs.astuple(weights))
    values, words = [], []
    for at, work in enumerate(head):
        value = weights.relevance / math.log2(at + 2)
        reasons = []
        if weights.authority:
            parts = [ranks[0][at], ranks[1][at], known[at].venue]
            measured = [part for part in parts if part is not None]
            value += weights.authority * sum(measured) / len(measured)
            reasons = _authority_text(known[at], rates[at])
        if weights.recent:
            age = max(0, now - work.year) if work.year else None
            value += weights.recent * (0 if age is None else 0.5 ** (age / HALF_LIFE))
            reasons.append(f"from {work.year}" if work.year else "year unknown")
        values.append(value / total)
        words.append(", ".join(reasons))
    order = sorted(range(len(head)), key=lambda at: -values[at])
    rest = len(works) - len(head)
    return [*order, *range(len(head), len(works))], [*words, *[""] * rest]


def _rate(known: Authority, work: Work, now: int) -> float:
    """Citations a year."""
    return known.citations / max(1, now - (work.year or now) + 1)


def _shares(values: Sequence[float]) -> list[float]:
    """For each value the share of the others that are smaller."""
    ordered = sorted(values)
    return [bisect_left(ordered, value) / max(1, len(values) - 1) for value in values]


def _authority_text(known: Authority, rate: float) -> list[str]:
    reasons = [f"cited {rate:.1f} times a year"]
    if known.venue is not None:
        reasons.append(f"its venue above {known.venue:.0%} of venues")
    return [*reasons, f"an author cited {known.authors:,} times"] if known.authors else reasons


def with_weights(
    engine: Engine, result: SearchResult, weights: OrderWeights | None
) -> SearchResult:
    """The result with its first `WEIGHED` papers in the weighted order, and the values of each as
    evidence."""
    if weights is None or not result.hits:
        return result
    hits = result.hits
    order, words = weighted(engine, [hit.work for hit in hits], weights)
    scores = [hit.score for hit in hits]
    moved = []
    for place, at in enumerate(order):
        terms = (words[at],) if words[at] else ()
        proof = Evidence(NAME, place + 1, scores[place], terms=terms, before=at + 1)
        hit = hits[at]
        moved.append(replace(hit, score=scores[place], evidence=(proof, *hit.evidence)))
    return replace(result, hits=tuple(moved), variant=f"{result.variant}+{NAME}")
