"""The order by what the question asks for.

A question for "recent" or "classic" papers changes the probability that a paper answers it: a
later year, or more citations, raise it. Other preferences sort within bands of about equally
relevant papers: "early" by year, a survey by its title, and the orders of a request, which no
probability states. A paper never leaves its band, so such a preference brings no paper of another
topic to the top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from citewell.engine.contract import Engine
from citewell.model import Work
from citewell.model.titles import normalise_title
from citewell.model.typed_query import TypedQuery
from citewell.retrieval.query_grammar.words import TITLE_WORDS
from citewell.usecases.explore.contract import Order, Reason
from citewell.usecases.explore.judging import JUDGED

BAND = 20
WEIGHTS = {"recent": 0.5, "cited": 0.5}
"""What a year, or one natural logarithm of the citations, adds to the log odds of a paper where the
question prefers recent or often cited ones. Chosen on the training and tuning questions of
AutoScholarQuery, their answers of the last three years, or with at least 1,000 citations, being
right. Any such weight of "early" was worse than bands."""
_HALVINGS = 40
KIND = 1e5
"""What a paper of a kind that is query for gains: more than any year or number of citations."""


def preferences(typed: TypedQuery, order: Order) -> tuple[str, ...]:
    """What decides within a band: "recent", "early", "cited a year", "cited", or a kind."""
    if order == "relevance":
        return ()
    if order == "recent":
        return ("recent",)
    if order == "cited":
        return ("cited a year",)
    found = [*typed.kinds]
    if typed.recency:
        found.append(typed.recency)
    if typed.influential:
        found.append("cited")
    return tuple(found)


def weigh(
    engine: Engine, works: Sequence[Work], chances: Mapping[str, float], wanted: Sequence[str]
) -> tuple[dict[str, float], dict[str, str]]:
    """The probability that each work answers a question that prefers what is `wanted`, keys of
    `WEIGHTS`; and of those that the preference decides, what counted, in words. Both by id.

    `chances` are those without the preference. It decides among the `JUDGED` likeliest works, so
    that it brings no paper of another topic to the top, and keeps the sum of their probabilities:
    the question has as many answers, but others. The rest stay below them.
    """
    likeliest = sorted(works, key=lambda work: -chances[work.id])
    head, rest = likeliest[:JUDGED], likeliest[JUDGED:]
    cited = engine.citations([work.id for work in head]) if "cited" in wanted else [0] * len(head)
    oldest = min((work.year for work in head if work.year), default=0)
    odds: list[float] = []
    words: dict[str, str] = {}
    for work, times in zip(head, cited, strict=True):
        gains = {"recent": work.year or oldest, "cited": math.log1p(times)}
        gain = sum(WEIGHTS[one] * gains[one] for one in wanted)
        odds.append(_log_odds(chances[work.id]) + gain)
        words[work.id] = "; ".join(_value(work, times, one, 0)[1] for one in wanted)
    found = _with_sum(odds, sum(chances[work.id] for work in head))
    weighed = {work.id: chance for work, chance in zip(head, found, strict=True)}
    least = min(found, default=0.0)
    weighed |= {work.id: min(chances[work.id], least) for work in rest}
    return weighed, words


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def _with_sum(odds: Sequence[float], total: float) -> list[float]:
    """Probabilities with these log odds, all moved by one amount that makes their sum `total`."""

    def moved(by: float) -> list[float]:
        return [1 / (1 + math.exp(min(-(one + by), 700.0))) for one in odds]

    low, high = -max(odds, default=0.0) - 50, -min(odds, default=0.0) + 50
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(moved(middle)) < total:
            low = middle
        else:
            high = middle
    return moved(high)


def by_preference(
    engine: Engine,
    works: Sequence[Work],
    wanted: Sequence[str],
    now: int,
    cuts: Sequence[int] = (),
) -> tuple[list[Work], dict[str, Reason]]:
    """The works, the preferred ones of each band first, and by id why a work moved.

    `now` is the year from which the age of a paper counts. No band holds papers from
    both sides of one of the `cuts`, which are indices of works.
    """
    if not wanted:
        return list(works), {}
    cited = [0] * len(works)
    if "cited" in wanted or "cited a year" in wanted:
        cited = engine.citations([work.id for work in works])
    values: dict[str, float] = {}
    words: dict[str, str] = {}
    for work, times in zip(works, cited, strict=True):
        each = [_value(work, times, one, now) for one in wanted]
        values[work.id] = sum(value for value, _ in each)
        words[work.id] = "; ".join(text for _, text in each if text)
    out: list[Work] = []
    edges = sorted({0, *cuts, len(works)})
    starts = [start for low, high in pairwise(edges) for start in range(low, high, BAND)]
    starts.append(len(works))
    for start, end in pairwise(starts):
        out += sorted(works[start:end], key=lambda work: -values[work.id])
    query = ", ".join(wanted)
    reasons = {
        work.id: Reason("order", query, place, words[work.id])
        for place, (work, before) in enumerate(zip(out, works, strict=True), start=1)
        if work.id != before.id and words[work.id]
    }
    return out, reasons


def _value(work: Work, times: int, wanted: str, now: int) -> tuple[float, str]:
    """How far a work meets one preference, more is better, and that in words."""
    if wanted in ("recent", "early"):
        year = work.year or 0
        if not year:
            return -9999.0, "year unknown"
        return float(year if wanted == "recent" else -year), str(year)
    if wanted == "cited":
        return math.log1p(times), f"cited {times:,} times"
    if wanted == "cited a year":
        rate = times / max(1, now - (work.year or now) + 1)
        return rate, f"cited {times:,} times, {rate:.1f} a year"
    title = normalise_title(work.title).split()
    is_kind = any(word in title for word in TITLE_WORDS.get(wanted, (wanted,)))
    return (KIND, f"{wanted} by its title") if is_kind else (0.0, "")
