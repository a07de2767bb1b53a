"""Years in typed words: "since 2019", "between 2015 and 2018", "last three years", "the 1990s"."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from citewell.model.lazy_pattern import lazy_pattern

_Y = r"((?:19|20)\d\d)"
_END = r"(?![\w-])"
_NUMBERS = {
    name: number
    for number, name in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
_COUNT = rf"(\d{{1,2}}|{'|'.join(_NUMBERS)}|few|couple of)"
_Bounds = tuple[int | None, int | None]


class Years(msgspec.Struct, frozen=True):
    """Bounds, both inclusive, and the characters that name them."""

    low: int | None
    high: int | None
    end: int
    is_range: bool
    """A range is a filter; a single year is a hint, as people often err by one."""


def _count(text: str) -> int:
    text = text.lower()
    if text in ("few", "couple of"):
        return 3 if text == "few" else 2
    return _NUMBERS.get(text) or int(text)


def _row(
    pattern: str, bounds: Callable[[re.Match[str], int], _Bounds], *, single: bool = False
) -> tuple[re.Pattern[str], Callable[[re.Match[str], int], _Bounds], bool]:
    return lazy_pattern(pattern, re.IGNORECASE), bounds, single


_DASH = r"\s*(?:-|–|—|\.\.|to|through|until)\s*"
_RULES = (
    _row(rf"years?:\s*{_Y}\s*(?:-|–|\.\.)\s*{_Y}{_END}", lambda m, now: (int(m[1]), int(m[2]))),
    _row(rf"years?:\s*(?:>=?\s*)?{_Y}\s*(?:-|–|\.\.|\+){_END}",
         lambda m, now: (int(m[1]), None)),
    _row(rf"years?:\s*>=\s*{_Y}{_END}", lambda m, now: (int(m[1]), None)),
    _row(rf"years?:\s*>\s*{_Y}{_END}", lambda m, now: (int(m[1]) + 1, None)),
    _row(rf"years?:\s*(?:-|–|\.\.|<=)\s*{_Y}{_END}", lambda m, now: (None, int(m[1]))),
    _row(rf"years?:\s*<\s*{_Y}{_END}", lambda m, now: (None, int(m[1]) - 1)),
    _row(rf"years?:\s*{_Y}{_END}", lambda m, now: (int(m[1]), int(m[1]))),
    _row(rf"(?:published\s+)?(?:between|from)\s+{_Y}\s+(?:and|to|until|till|through)\s+{_Y}{_END}",
         lambda m, now: (int(m[1]), int(m[2]))),
    _row(rf"(?:in\s+)?{_Y}{_DASH}{_Y}{_END}", lambda m, now: (int(m[1]), int(m[2]))),
    _row(rf"(?:in\s+)?{_Y}\s+(?:or|and)\s+{_Y}{_END}", lambda m, now: (int(m[1]), int(m[2]))),
    _row(rf"(?:since|from|starting(?:\s+(?:in|from))?)\s+{_Y}(?:\s+on(?:wards?)?)?{_END}",
         lambda m, now: (int(m[1]), None)),
    _row(rf"{_Y}\s+(?:onwards?|or\s+later|and\s+later|and\s+after|or\s+newer){_END}",
         lambda m, now: (int(m[1]), None)),
    _row(rf"{_Y}\+{_END}", lambda m, now: (int(m[1]), None)),
    _row(rf"(?:after|later\s+than|newer\s+than)\s+{_Y}{_END}",
         lambda m, now: (int(m[1]) + 1, None)),
    _row(rf"(?:until|till|up\s+to|through|no\s+later\s+than)\s+{_Y}{_END}",
         lambda m, now: (None, int(m[1]))),
    _row(rf"{_Y}\s+(?:or\s+earlier|and\s+earlier|and\s+before|or\s+older){_END}",
         lambda m, now: (None, int(m[1]))),
    _row(rf"(?:before|prior\s+to|earlier\s+than|older\s+than)\s+{_Y}{_END}",
         lambda m, now: (None, int(m[1]) - 1)),
    _row(rf"(?:(?:in|over|during|from|within)\s+)?(?:the\s+)?(?:last|past)\s+{_COUNT}\s+years?\b",
         lambda m, now: (now - _count(m[1]), None)),
    _row(r"(?:(?:in|over|during|from|within)\s+)?(?:the\s+)?(?:last|past)\s+decade\b",
         lambda m, now: (now - 10, None)),
    _row(r"(?:(?:in|from)\s+)?last\s+year\b", lambda m, now: (now - 1, now - 1)),
    _row(r"(?:(?:in|from)\s+)?this\s+year\b", lambda m, now: (now, now)),
    _row(r"(?:(?:in|from|during)\s+)?(?:the\s+)?(early|mid|late)?[\s-]*((?:19|20)\d)0['’]?s\b",
         lambda m, now: _decade(m[1], int(m[2]) * 10)),
    _row(rf"(?:published\s+)?(?:in|of)\s+(?:the\s+year\s+)?{_Y}{_END}",
         lambda m, now: (int(m[1]), int(m[1])), single=True),
    _row(rf"{_Y}{_END}", lambda m, now: (int(m[1]), int(m[1])), single=True),
)  # fmt: skip
"""Tried in order at one place of the text."""
_SIGNS = ("19", "20", "year", "decade")
"""Every text that a rule matches has one of them, in lower case."""


def _decade(part: str | None, begin: int) -> _Bounds:
    low, high = {"early": (0, 3), "mid": (3, 7), "late": (6, 9)}.get((part or "").lower(), (0, 9))
    return begin + low, begin + high


def years_at(text: str, at: int, now: int) -> Years | None:
    """The years named at this place; `now` is the year that "the last five years" counts from."""
    # Compiling the rules takes a sixth of a first search, and most typed words name no year.
    rest = text[at:].lower()
    if not any(sign in rest for sign in _SIGNS):
        return None
    for pattern, bounds, single in _RULES:
        if match := pattern.match(text, at):
            low, high = bounds(match, now)
            if low is not None and high is not None and low > high:
                low, high = high, low
            return Years(low, high, match.end(), not single)
    return None
