"""Rules for everything but authors; each returns the part that begins at a token, or None."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from citewell.model.languages import language_code
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import PartKind
from citewell.retrieval.query_grammar.cursor import LONGEST, Clause, Cursor
from citewell.retrieval.query_grammar.words import (
    ADVANCES,
    EARLY,
    ENTRY_TYPES,
    EXCLUDING,
    INFLUENTIAL,
    INFLUENTIAL_THEMSELVES,
    INFLUENTIAL_TOPICS,
    KIND_OF,
    KINDS,
    METHOD,
    METHODS,
    NO_NAME,
    PAPERS,
    PUBLISHED,
    RECENT,
    REQUEST_ONLY,
    REVIEWING,
    STUDIED,
    SUPERLATIVES,
    TITLED_AFTER,
    VENUE_HEADS,
    VENUE_STOPS,
)

# Years in typed words: "since 2019", "between 2015 and 2018", "last three years", "the 1990s".

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
    """Bounds, both inclusive, and the characters of the expression."""

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
"""Every text matched by a rule contains one of them, in lower case."""


def _decade(part: str | None, begin: int) -> _Bounds:
    low, high = {"early": (0, 3), "mid": (3, 7), "late": (6, 9)}.get((part or "").lower(), (0, 9))
    return begin + low, begin + high


def years_at(text: str, at: int, now: int) -> Years | None:
    """The years at this place; `now` is the year that "the last five years" counts from."""
    # Compiling the rules takes a sixth of a first search, and most typed words contain no year.
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


LONGEST_VENUE = 12
LONGEST_TITLE = 16


def field(cursor: Cursor, at: int) -> Clause | None:
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
    if name == "keyword" and value:
        return Clause("keyword", end, value, {}, filters={"keyword": value})
    return _valued(cursor, name, value, at + 1, end) if value else None


def _valued(cursor: Cursor, name: str, value: str, begin: int, end: int) -> Clause | None:
    if name in ("author", "by"):
        return Clause("author", end, value, {"authors": (value,)}, filters={"author": value})
    if name == "venue":
        return Clause("venue", end, value, {"venues": (value,)}, filters={"venue": value})
    if name in ("type", "kind"):
        if value.lower() in ENTRY_TYPES:
            return Clause("kind", end, value.lower(), {}, filters={"kind": value.lower()})
        return _title_kind(KINDS.get(value.lower()), end)
    if name == "language":
        code = language_code(value)
        return Clause("language", end, code, {}, filters={"language": code}) if code else None
    return _related(cursor, begin, end, _RELATIONS[name])


def _title_kind(kind: str | None, end: int) -> Clause | None:
    if kind is None:
        return None
    return Clause("kind", end, kind, {"kinds": (kind,)}, kept=kind, filters={"title_kind": kind})


_LEAST = re.compile(r"\s*([>=≥]*)\s*(\d{1,7})\+?")
_RELATIONS: dict[str, PartKind] = {
    "cites": "cites", "citing": "cites", "cited-by": "cited_by", "citedby": "cited_by",
    "like": "like",
}  # fmt: skip


def _value(cursor: Cursor, begin: int) -> tuple[str, int]:
    """The value after a colon (a phrase, or the text up to the next blank), and the index of the
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


def excluded(cursor: Cursor, at: int) -> Clause | None:
    """`-survey`, `-"deep learning"`, `NOT survey`, "but not survey or review"."""
    token = cursor.tokens[at]
    begin = at + 1
    if token.kind == "minus" or (token.text == "NOT" and begin < len(cursor.tokens)):
        if begin < len(cursor.tokens) and cursor.tokens[begin].kind in ("word", "phrase"):
            word = cursor.tokens[begin].text
            return Clause("excluded", begin + 1, f"-{word}", {"none_of": (word,)})
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
    return Clause("excluded", end, shown, {"none_of": tuple(words)})


def phrase(cursor: Cursor, at: int) -> Clause | None:
    token = cursor.tokens[at]
    if token.kind != "phrase":
        return None
    return Clause("phrase", at + 1, token.text, {"phrases": (token.text,)}, kept=token.text)


def years(cursor: Cursor, at: int) -> Clause | None:
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
    return Clause(
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
"""First words of an exclusive limit."""


def citations(cursor: Cursor, at: int) -> Clause | None:
    """ "at least 100 citations", "cited more than 50 times"."""
    found = _CITATIONS.match(cursor.text[:LONGEST], cursor.tokens[at].start)
    if found is None:
        return None
    limit = (found[1] or found[4] or "").lower()
    count = int(found[2] or found[3] or found[5]) + (limit == ">" or limit.startswith(_EXCLUSIVE))
    return _least_citations(cursor, at, count, found.end())


def _least_citations(cursor: Cursor, at: int, count: int, last: int) -> Clause:
    end = at + 1
    while end < len(cursor.tokens) and cursor.tokens[end].start < last:
        end += 1
    return Clause("citations", end, f"{count}+", {"min_citations": count}, last=last)


def recency(cursor: Cursor, at: int) -> Clause | None:
    """ "early work", "recent", "latest", "recent advances in parsing", "trends in parsing"."""
    if end := cursor.after_any(at, EARLY):
        return Clause("recency", end, "early", {"recency": "early"})
    if (end := cursor.after_any(at, ADVANCES)) and venue(cursor, at) is None:
        return _request(cursor, at, Clause("recency", end, "recent", {"recency": "recent"}))
    end = cursor.after_any(at, RECENT)
    if not end or cursor.low(end) in TITLED_AFTER:
        return None
    return Clause("recency", end, "recent", {"recency": "recent"})


def _request(cursor: Cursor, at: int, found: Clause) -> Clause | None:
    """A clause that asks for the literature on the topic after it, at the start of the text; None
    where a title begins with all the words."""
    if not cursor.is_word(found.end) or not _opens(cursor, at):
        return None
    if cursor.names.opens_title(cursor.slice(0, len(cursor.tokens))):
        return None
    return msgspec.structs.replace(found, asks=True)


def _opens(cursor: Cursor, at: int) -> bool:
    """Whether only words that ask precede a token."""
    return all(cursor.low(n) in _OPENING for n in range(at))


_OPENING = REQUEST_ONLY | frozenset("best good how latest most recent".split())


_CITING = {
    "citing": "cites", "that cite": "cites", "which cite": "cites", "that cites": "cites",
    "who cite": "cites", "cited by": "cited_by", "referenced by": "cited_by",
    "similar to": "like", "papers like": "like", "work like": "like",
}  # fmt: skip


def relation(cursor: Cursor, at: int) -> Clause | None:
    """ "citing BERT", "cited by 10.18653/v1/N19-1423", "similar to "Attention is all you need""."""
    for words, kind in _CITING.items():
        if begin := cursor.follows(at, words):
            for end in range(min(len(cursor.tokens), begin + LONGEST_TITLE), begin, -1):
                found = _related(cursor, begin, end, kind)  # type: ignore[arg-type]
                if found is not None:
                    return found
    return None


def _related(cursor: Cursor, begin: int, end: int, kind: PartKind) -> Clause | None:
    if begin >= len(cursor.tokens):
        return None
    text = cursor.slice(begin, end).strip("\"“”«»'.,? ")
    work = cursor.names.work(text) if text else ""
    return Clause(kind, end, text, {str(kind): (work,)}) if work else None


def venue(cursor: Cursor, at: int) -> Clause | None:
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
                return Clause("venue", last, name, {"venues": (name,)})
    name = cursor.names.venue(cursor.tokens[begin].text, is_marked=has_sign and is_published)
    return Clause("venue", begin + 1, name, {"venues": (name,)}) if name else None


def _is_titled(cursor: Cursor, at: int) -> bool:
    """ "at Neural Computation": two words with capitals behind "at" or "from"."""
    sign = cursor.low(at - 1) if cursor.low(at - 1) != "the" else cursor.low(at - 2)
    return sign in ("at", "from") and all(
        cursor.is_word(n) and cursor.tokens[n].text[:1].isupper() for n in (at, at + 1)
    )


def kind(cursor: Cursor, at: int) -> Clause | None:
    """ "surveys", "survey of parsing", "parsing: a survey", "methods for parsing"; a word such as
    "benchmark" alone belongs to the topic, and so does "product reviews"."""
    if end := cursor.after_any(at, METHODS):
        return _request(cursor, at, Clause("kind", end, METHOD, {"kinds": (METHOD,)}))
    found = KINDS.get(cursor.low(at)) if cursor.is_word(at) else None
    if found is None or cursor.low(at - 1).removesuffix("s") in STUDIED:
        return None
    is_kind = cursor.low(at).endswith(("s", "corpora")) or cursor.low(at + 1) in KIND_OF
    if found == "survey":
        is_kind |= at > 0 and not cursor.is_word(at + 1)
    if cursor.low(at).startswith("review"):
        is_kind &= cursor.low(at - 1) in REVIEWING or _opens(cursor, at)
    return Clause("kind", at + 1, found, {"kinds": (found,)}, kept=None) if is_kind else None


# The rule for highly cited papers: "classic papers on X", "seminal X", "X most cited".
#
# Before a word such as "papers" the adjective suffices. Before a topic it may belong to it, as in
# "influential nodes" and "classic control": there the library decides.

LONGEST_TOPIC = 8
"""Maximum words of a topic that are looked up."""
LEAST_WORDS = 2
"""Minimum words of a topic after an adjective that is no superlative."""
LEAST_PAPERS = 5
"""Minimum number of papers with all words of the topic, without the adjective."""
LEAST_TITLES = 3
"""Number of titles with the adjective right before the next word, from which both belong to the
topic."""
_CONTINUE = frozenset("of for in on with using and or via".split())
"""Words inside a topic that also end the name of a venue."""


def influential(cursor: Cursor, at: int) -> Clause | None:
    """ "classic papers", "seminal work", "influential graph neural networks", "the most cited"."""
    end = cursor.after_any(at, INFLUENTIAL)
    if not end:
        return None
    is_found = (
        cursor.low(end) in PAPERS
        or _is_before_topic(cursor, at, end)
        or _is_behind_papers(cursor, at, end)
    )
    return Clause("citations", end, "influential", {"influential": True}) if is_found else None


def _is_before_topic(cursor: Cursor, at: int, end: int) -> bool:
    """Whether the adjective begins the text, and a topic without it follows."""
    if any(cursor.low(n) not in REQUEST_ONLY for n in range(at)):
        return False
    words = _topic(cursor, end)
    content = [word for word in words if word not in NO_NAME]
    if not content or words[0] in NO_NAME:
        return False
    is_superlative = cursor.after_any(at, SUPERLATIVES) == end
    if words[-1] not in PAPERS and not is_superlative:
        is_usual = cursor.after_any(at, INFLUENTIAL_TOPICS) == end
        if not is_usual or len(content) < LEAST_WORDS:
            return False
    adjective, names = cursor.low(end - 1), cursor.names
    return (
        _head(words) not in INFLUENTIAL_THEMSELVES.get(adjective, ())
        and names.titles_with(f"{adjective} {words[0]}") < LEAST_TITLES
        and names.papers_on(" ".join(content)) >= LEAST_PAPERS
    )


def _topic(cursor: Cursor, begin: int) -> list[str]:
    """The words up to a punctuation mark, a number or a word that begins another part, in lower
    case."""
    words: list[str] = []
    for n in range(begin, min(len(cursor.tokens), begin + LONGEST_TOPIC)):
        word = cursor.low(n)
        if not cursor.is_word(n) or (word in VENUE_STOPS and word not in _CONTINUE):
            break
        words.append(word)
    return words


def _head(words: list[str]) -> str:
    """The noun that the adjective belongs to: the last word before "in", "of" and the like."""
    ends = (n for n, word in enumerate(words) if word in NO_NAME)
    return words[next(ends, len(words)) - 1]


def _is_behind_papers(cursor: Cursor, at: int, end: int) -> bool:
    """ "which works are the most influential in parsing", "papers on parsing, most cited"."""
    if cursor.after_any(at, SUPERLATIVES) != end:
        return False
    if not any(cursor.low(n) in PAPERS for n in range(at)):
        return False
    return not cursor.is_word(end) or cursor.low(end) in ("in", "on", "for", "about")
