"""The order within bands of about equally relevant papers: by what the question asks for.

"Recent" and "early" sort by year, "classic" by citations, a survey by its title. A paper never
leaves its band, so a preference brings no paper of another topic to the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from citewell.engine.contract import Engine
from citewell.model import Work
from citewell.model.titles import normalise_title
from citewell.model.typed_query import TypedQuery
from citewell.retrieval.query_grammar.words import TITLE_WORDS
from citewell.usecases.explore.contract import Order, Reason

BAND = 20
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
