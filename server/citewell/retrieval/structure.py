"""Reads filters out of typed words: "attention since 2019 author:ruiz" has a year and an author.

Only words typed into a placeholder or a search are read so; a year in a citing sentence is a hint
and stays one. A bare year is a hint too ("vaswani 2017"), a range is a filter.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import msgspec

from citewell.model import Query

_Y = r"((?:19|20)\d\d)"
_END = r"(?![\w-])"
_Bounds = tuple[int | None, int | None]

_YEARS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int], _Bounds]], ...] = (
    (re.compile(rf"\byear:\s*{_Y}\s*(?:-|–|\.\.)\s*{_Y}{_END}", re.I),
     lambda m, now: (int(m[1]), int(m[2]))),
    (re.compile(rf"\byear:\s*{_Y}\s*(?:-|–|\.\.|\+){_END}", re.I),
     lambda m, now: (int(m[1]), None)),
    (re.compile(rf"\byear:\s*(?:-|–|\.\.){_Y}{_END}", re.I), lambda m, now: (None, int(m[1]))),
    (re.compile(rf"\byear:\s*{_Y}{_END}", re.I), lambda m, now: (int(m[1]), int(m[1]))),
    (re.compile(rf"\b(?:between|from)\s+{_Y}\s+(?:and|to|until|till)\s+{_Y}{_END}", re.I),
     lambda m, now: (int(m[1]), int(m[2]))),
    (re.compile(rf"(?<![\w-]){_Y}\s*(?:-|–|to)\s*{_Y}{_END}", re.I),
     lambda m, now: (int(m[1]), int(m[2]))),
    (re.compile(rf"\b(?:since|from|starting(?: in)?)\s+{_Y}{_END}", re.I),
     lambda m, now: (int(m[1]), None)),
    (re.compile(rf"(?<![\w-]){_Y}\s+(?:onwards?|or later|and later|and after){_END}", re.I),
     lambda m, now: (int(m[1]), None)),
    (re.compile(rf"\bafter\s+{_Y}{_END}", re.I), lambda m, now: (int(m[1]) + 1, None)),
    (re.compile(rf"\b(?:until|till|up to|through|no later than)\s+{_Y}{_END}", re.I),
     lambda m, now: (None, int(m[1]))),
    (re.compile(rf"(?<![\w-]){_Y}\s+(?:or earlier|and earlier|and before){_END}", re.I),
     lambda m, now: (None, int(m[1]))),
    (re.compile(rf"\bbefore\s+{_Y}{_END}", re.I), lambda m, now: (None, int(m[1]) - 1)),
    (re.compile(r"\b(?:in\s+)?(?:the\s+)?(?:last|past)\s+(\d{1,2})\s+years?\b", re.I),
     lambda m, now: (now - int(m[1]), None)),
)  # fmt: skip
"""Tried in order; each match is taken out of the words."""

_AUTHOR = re.compile(r"\bauthor:\s*(\"[^\"]*\"|\S+)", re.I)
_VENUE = re.compile(r"\bvenue:\s*(\"[^\"]*\"|\S+)", re.I)


_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:can|could|would|please|which|what|where|who|are there|is there|any|give|tell|"
    r"list|find|show|provide|name|i need|i want|looking for)\b", re.I
)  # fmt: skip
_REQUEST = frozenset(
    """
    any article articles book books find give know list literature looking me name need paper
    papers please provide publication publications reference references research researches show
    some studies study tell want work works address addressed addresses discuss discussed
    discusses explore explored explores focus focused focuses investigate investigated
    investigates introduce introduced introduces present presented presents propose proposed
    proposes
    """.split()
)


def topic_of_request(text: str) -> str:
    """A question for papers without the words that only ask: "Which papers study X?" is "X?".

    Any other text stays as it is, and so does a request of nothing else.
    """
    if not _QUESTION.search(text):
        return text
    kept = [word for word in text.split() if word.strip("?,.;:'").lower() not in _REQUEST]
    return " ".join(kept) or text


def structured(query: Query, now: int | None = None) -> Query:
    """The query with the filters of its typed words as filters, and its topic as its words.

    `now` is the year that "the last 5 years" counts from: that of the citing paper if it is known,
    else this one. Filters that the query already has stay.
    """
    text = topic_of_request(query.text)
    now = now or query.paper.year or datetime.date.today().year
    year_from, year_to = query.year_from, query.year_to
    for pattern, bounds in _YEARS:
        if match := pattern.search(text):
            low, high = bounds(match, now)
            if low is not None and high is not None and low > high:
                low, high = high, low
            year_from = low if year_from is None else year_from
            year_to = high if year_to is None else year_to
            text = f"{text[: match.start()]} {text[match.end() :]}"
            break
    author, venue = query.author, query.venue
    if match := _AUTHOR.search(text):
        author = author or match[1].strip('"')
        text = f"{text[: match.start()]} {text[match.end() :]}"
    if match := _VENUE.search(text):
        venue = venue or match[1].strip('"')
        text = f"{text[: match.start()]} {text[match.end() :]}"
    if text == query.text:
        return query
    return msgspec.structs.replace(
        query,
        text=" ".join(text.split()),
        year_from=year_from,
        year_to=year_to,
        author=author,
        venue=venue,
    )
