"""Keys in Markdown, `@doe99` or `@{any key}`, and words in the place of one."""

from __future__ import annotations

import re

from citewell.documents.placeholders import is_dummy, squeeze
from citewell.model.document import Span

KEY = re.compile(
    r"(?<![\w@\\/.+-])-?@"
    r"(?:\{(?P<braced>[^{}\s]{1,500})\}|(?P<plain>\w+(?:[:.#$%&+?<>~/-]+\w+)*))"
)
_CROSS = re.compile(
    r"(?:fig|tbl|sec|eq|lst|thm|lem|cor|prp|cnj|def|exm|exr|tab|nte|tip|wrn|imp|cau)[-:]"
)
"""Quarto's and bookdown's cross references, which look like citations."""
_KEY_SHAPE = re.compile(r".*(?:\d\d|[_:]).*|.*[a-z][A-Z].*")
_LOCATOR = re.compile(
    r"(?i)(?:pp?|pages?|chap|chapters?|ch|sec|sections?|§+|figs?|figures?|vol|volumes?|para|"
    r"part|line|note|theorem|table|eq|and|or|for|in|see|e\.g|i\.e|passim|\W*\d.*)\b.*"
)
_BEHIND_WORDS = re.compile(
    r"(?i),\s*(?:pp?\.?|(?:chap|ch|secs?|figs?|vol|eq|no|art)\.|pages?|chapters?|sections?|figures?|"
    r"volumes?|theorem|§+)\s*(?:[ivxlc]+\b|\d[\w.–-]*)(?:,.*)?\s*\Z"
)
"""A locator behind words: `, p. 3`."""


def keys_in(text: str, start: int, end: int) -> list[tuple[str, Span]]:
    """The keys cited in a stretch of text, with their spans; no cross references, no dummies."""
    found = []
    for match in KEY.finditer(text, start, end):
        name = match["braced"] or match["plain"]
        if not match["braced"] and _CROSS.match(name):
            continue
        if is_dummy(name):
            continue
        place = match.start("braced") if match["braced"] else match.start("plain")
        found.append((name, Span(place, place + len(name))))
    return found


def wanted_in(text: str, start: int, end: int) -> tuple[int, str, Span] | None:
    """Words that stand for a key: `@`, `@?`, `@?words`, `@query words`, `@a; @`."""
    position = start
    while (place := text.find("@", position, end)) >= 0:
        position = place + 1
        if text[place - 1].isalnum():
            continue
        stop = len(text)
        for char in ";@":
            found = text.find(char, place + 1, end)
            stop = min(stop, found if found >= 0 else end)
        asks = text.startswith("?", place + 1)
        words_start = place + 2 if asks else place + 1
        while asks and text.startswith("?", words_start):
            words_start += 1
        raw = text[words_start:stop]
        if locator := _BEHIND_WORDS.search(raw):
            raw = raw[: locator.start()]
        words = squeeze(raw).rstrip(",")
        lead = len(raw) - len(raw.lstrip())
        span = Span(words_start + lead, max(words_start + lead, words_start + len(raw.rstrip())))
        if asks or not words or is_dummy(words):
            return place, "" if is_dummy(words) else words, span
        if _free_words(words):
            return place, words, span
    return None


def _free_words(words: str) -> bool:
    """True for a query of several words, false for a key with what may follow it.

    Pandoc lets a locator or any suffix follow a key (`[@doe99 p. 33]`), so that the first word must
    not look like a key and the second not like a locator.
    """
    parts = words.split()
    return (
        len(parts) >= 2
        and "," not in parts[0]
        and _KEY_SHAPE.fullmatch(parts[0]) is None
        and _LOCATOR.fullmatch(parts[1]) is None
    )
