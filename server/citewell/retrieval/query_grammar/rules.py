"""Rules for everything but authors; each gives the part that begins at a token, or None."""

from __future__ import annotations

import re

from citewell.model.languages import language_code
from citewell.model.typed_query import PartKind
from citewell.retrieval.query_grammar.cursor import Cursor, Part
from citewell.retrieval.query_grammar.tokens import LONGEST
from citewell.retrieval.query_grammar.words import (
    EARLY,
    ENTRY_TYPES,
    EXCLUDING,
    KIND_OF,
    KINDS,
    PUBLISHED,
    RECENT,
    TITLED_AFTER,
    VENUE_HEADS,
    VENUE_STOPS,
)
from citewell.retrieval.query_grammar.years import years_at

LONGEST_VENUE = 12
LONGEST_TITLE = 16


def field(cursor: Cursor, at: int) -> Part | None:
    """`author:ruiz`, `venue:"Great Hall"`, `year:2015-2018`, `citations:>100`, `cites:...`."""
    token = cursor.tokens[at]
    if token.kind != "field":
        return None
    name = token.text
    if name in ("year", "years"):
        return years(cursor, at)
    if name in ("citations", "min-citations"):
        found = _LEAST.match(cursor.text, token.end)
        if found is None:
            return None
        return _least_citations(cursor, at, int(found[2]) + (found[1] == ">"), found.end())
    value, end = _value(cursor, at + 1)
    return _valued(cursor, name, value, at + 1, end) if value else None


def _valued(cursor: Cursor, name: str, value: str, begin: int, end: int) -> Part | None:
    if name in ("author", "by"):
        return Part("author", end, value, {"authors": (value,)}, filters={"author": value})
    if name == "venue":
        return Part("venue", end, value, {"venues": (value,)}, filters={"venue": value})
    if name in ("type", "kind"):
        if value.lower() in ENTRY_TYPES:
            return Part("kind", end, value.lower(), {}, filters={"kind": value.lower()})
        return _title_kind(KINDS.get(value.lower()), end)
    if name == "language":
        code = language_code(value)
        return Part("language", end, code, {}, filters={"language": code}) if code else None
    return _related(cursor, begin, end, _RELATIONS[name])


def _title_kind(kind: str | None, end: int) -> Part | None:
    if kind is None:
        return None
    return Part("kind", end, kind, {"kinds": (kind,)}, kept=kind, filters={"title_kind": kind})


_LEAST = re.compile(r"\s*([>=≥]*)\s*(\d{1,7})\+?")
_RELATIONS: dict[str, PartKind] = {
    "cites": "cites", "citing": "cites", "cited-by": "cited_by", "citedby": "cited_by",
    "like": "like",
}  # fmt: skip


def _value(cursor: Cursor, begin: int) -> tuple[str, int]:
    """The value after a colon (a phrase, or everything up to the next blank), and the index of the
    token after it."""
    if begin >= len(cursor.tokens):
        return "", begin
    first = cursor.tokens[begin]
    if first.kind == "phrase":
        return first.text, begin + 1
    end = begin + 1
    while end < len(cursor.tokens) and cursor.tokens[end].start == cursor.tokens[end - 1].end:
        end += 1
    value = cursor.slice(begin, end).strip("\"“”'")
    return (value, end) if any(c.isalnum() for c in value) else ("", end)


def excluded(cursor: Cursor, at: int) -> Part | None:
    """`-survey`, `-"deep learning"`, `NOT survey`, "but not survey or review"."""
    token = cursor.tokens[at]
    begin = at + 1
    if token.kind == "minus" or (token.text == "NOT" and begin < len(cursor.tokens)):
        if begin < len(cursor.tokens) and cursor.tokens[begin].kind in ("word", "phrase"):
            word = cursor.tokens[begin].text
            return Part("excluded", begin + 1, f"-{word}", {"none_of": (word,)})
        return None
    begin = cursor.after_any(at, EXCLUDING)
    if not begin:
        return None
    words: list[str] = []
    run: list[str] = []
    end = begin
    while end < len(cursor.tokens) and end - begin < 8:
        one = cursor.tokens[end]
        if one.kind == "phrase":
            words.append(one.text)
        elif one.low in ("or", "nor", "and") or one.text == ",":
            words, run = [*words, " ".join(run)], []
        elif one.kind == "word" and one.low not in VENUE_STOPS:
            run.append(one.text)
        else:
            break
        end += 1
    words = [word for word in (*words, " ".join(run)) if word]
    if not words:
        return None
    shown = ", ".join(f"-{word}" for word in words)
    return Part("excluded", end, shown, {"none_of": tuple(words)})


def phrase(cursor: Cursor, at: int) -> Part | None:
    token = cursor.tokens[at]
    if token.kind != "phrase":
        return None
    return Part("phrase", at + 1, token.text, {"phrases": (token.text,)}, kept=token.text)


def years(cursor: Cursor, at: int) -> Part | None:
    begin = cursor.tokens[at].start
    found = years_at(cursor.text[:LONGEST], begin, cursor.now)
    if found is None:
        return None
    end = at + 1
    while end < len(cursor.tokens) and cursor.tokens[end].start < found.end:
        end += 1
    low, high = found.low, found.high
    shown = str(low) if low == high else f"{low or ''}-{high or ''}"
    bounds: dict[str, object] = {"year_from": low, "year_to": high}
    return Part(
        "year", end, shown, bounds,
        kept="" if found.is_range else str(low),
        filters={name: value for name, value in bounds.items() if value is not None}
        if found.is_range else {},
        is_bare=not found.is_range and end == at + 1,
        last=found.end,
    )  # fmt: skip


_CITATIONS = re.compile(
    r"(?:with\s+)?(?:(at\s+least|more\s+than|over|min(?:imum)?(?:\s+of)?|[>≥]=?)\s*(\d{1,7})|"
    r"(\d{1,7})(?:\s*\+|\s+or\s+more))\s*(?:citations?|cites)\b|"
    r"cited\s+(?:by\s+)?(at\s+least|more\s+than|over)\s+(\d{1,7})(?:\s+times|\s+papers)",
    re.IGNORECASE,
)
_EXCLUSIVE = ("more", "over")
"""First words of a limit that is not enough itself."""


def citations(cursor: Cursor, at: int) -> Part | None:
    """ "at least 100 citations", "cited more than 50 times"."""
    found = _CITATIONS.match(cursor.text[:LONGEST], cursor.tokens[at].start)
    if found is None:
        return None
    limit = (found[1] or found[4] or "").lower()
    count = int(found[2] or found[3] or found[5]) + (limit == ">" or limit.startswith(_EXCLUSIVE))
    return _least_citations(cursor, at, count, found.end())


def _least_citations(cursor: Cursor, at: int, count: int, last: int) -> Part:
    end = at + 1
    while end < len(cursor.tokens) and cursor.tokens[end].start < last:
        end += 1
    return Part("citations", end, f"{count}+", {"min_citations": count}, last=last)


def recency(cursor: Cursor, at: int) -> Part | None:
    if end := cursor.after_any(at, EARLY):
        return Part("recency", end, "early", {"recency": "early"})
    end = cursor.after_any(at, RECENT)
    if not end or cursor.low(end) in TITLED_AFTER:
        return None
    return Part("recency", end, "recent", {"recency": "recent"})


_CITING = {
    "citing": "cites", "that cite": "cites", "which cite": "cites", "that cites": "cites",
    "who cite": "cites", "cited by": "cited_by", "referenced by": "cited_by",
    "similar to": "like", "papers like": "like", "work like": "like",
}  # fmt: skip


def relation(cursor: Cursor, at: int) -> Part | None:
    """ "citing BERT", "cited by 10.18653/v1/N19-1423", "similar to "Attention is all you need""."""
    for words, kind in _CITING.items():
        if begin := cursor.follows(at, words):
            for end in range(min(len(cursor.tokens), begin + LONGEST_TITLE), begin, -1):
                found = _related(cursor, begin, end, kind)  # type: ignore[arg-type]
                if found is not None:
                    return found
    return None


def _related(cursor: Cursor, begin: int, end: int, kind: PartKind) -> Part | None:
    if begin >= len(cursor.tokens):
        return None
    text = cursor.slice(begin, end).strip("\"“”«»'.,? ")
    work = cursor.names.work(text) if text else ""
    return Part(kind, end, text, {str(kind): (work,)}) if work else None


def venue(cursor: Cursor, at: int) -> Part | None:
    """ "at NeurIPS", "in the Journal of Machine Learning Research", "ACL"; its year follows."""
    begin = at
    is_published = cursor.low(at - 1) in PUBLISHED
    has_sign = cursor.low(at) in ("in", "at", "from", "on")
    if has_sign:
        begin += 1
        if cursor.low(begin) == "the":
            begin += 1
    if not cursor.is_word(begin):
        return None
    if cursor.low(begin) in VENUE_HEADS or (
        has_sign and (is_published or _is_titled(cursor, begin))
    ):
        end = begin
        while (
            end < min(len(cursor.tokens), begin + LONGEST_VENUE)
            and (cursor.is_word(end) or cursor.low(end) in ("&", "the"))
            and (cursor.low(end) not in VENUE_STOPS or cursor.low(end) in ("in", "on", "of", "and"))
        ):
            end += 1
        least = begin if is_published else begin + 1
        for last in range(end, least, -1):
            name = cursor.names.venue(cursor.slice(begin, last), is_marked=True)
            if name:
                return Part("venue", last, name, {"venues": (name,)})
    name = cursor.names.venue(cursor.tokens[begin].text, is_marked=has_sign and is_published)
    return Part("venue", begin + 1, name, {"venues": (name,)}) if name else None


def _is_titled(cursor: Cursor, at: int) -> bool:
    """ "at Neural Computation": two words with capitals behind "at" or "from"."""
    sign = cursor.low(at - 1) if cursor.low(at - 1) != "the" else cursor.low(at - 2)
    return sign in ("at", "from") and all(
        cursor.is_word(n) and cursor.tokens[n].text[:1].isupper() for n in (at, at + 1)
    )


def kind(cursor: Cursor, at: int) -> Part | None:
    """ "surveys", "survey of parsing"; a word such as "benchmark" by itself is of the topic."""
    found = KINDS.get(cursor.low(at)) if cursor.is_word(at) else None
    if found is None:
        return None
    is_kind = cursor.low(at).endswith(("s", "corpora")) or cursor.low(at + 1) in KIND_OF
    return Part("kind", at + 1, found, {"kinds": (found,)}, kept=None) if is_kind else None
