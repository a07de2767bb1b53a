"""Turns typed words into the parts of a query: words to search for, filters, conditions.

Only words typed into a placeholder or a search are parsed; a year in a citing sentence is only a
hint.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from citewell.corpus.aliases import GENERIC
from citewell.model import Query
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import QueryPart, TypedQuery, Understood
from citewell.model.tex import tex_to_unicode
from citewell.retrieval.query_grammar import people, rules
from citewell.retrieval.query_grammar.cursor import Cursor, Names, Rule
from citewell.retrieval.query_grammar.words import is_sentence, topic_of

# Parses typed words by rules: authors, venues, years, and the remaining topic.
#
# The text becomes tokens; at each token the rules of `RULES` are tried in order, and the first
# match takes its tokens as one part. The rest is the topic. Names count only if the library knows
# them, so that "markov" in "markov decision process" stays a word. No text fails, and the length
# parsed is bounded. docs/queries.md has the grammar.

MOST_PARTS = 24
"""Maximum number of parts; the rest of the text is topic."""
RULES: tuple[Rule, ...] = (
    rules.field,
    rules.excluded,
    rules.phrase,
    rules.citations,
    rules.relation,
    rules.recency,
    rules.influential,
    rules.years,
    people.marked_authors,
    rules.venue,
    rules.kind,
    people.bare_authors,
)
"""Tried in order at each token; the first match applies."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The words to search for, the filters, and the recognised parts."""

    words: str
    """Topic, surnames and single years: the input of retrievers and rankers."""
    understood: Understood = Understood()
    filters: dict[str, Any] = {}
    """Fields of a query: those named as fields, and the years of a range. "title_kind" is a kind
    recognised by words of titles, a filter if there is no topic."""
    asks: bool = False
    """Whether they ask for the literature on a topic."""
    has_bare_names_only: bool = True
    """Only surnames and years were recognised, which may also be words of a title."""


def read_query(text: str, names: Names | None = None, now: int | None = None) -> Reading:
    """Parse typed words; `now` is the year that "last three years" counts from."""
    cursor = Cursor(text, names or Names(), now or datetime.date.today().year)
    chosen = (rules.field,) if is_sentence(text) else RULES
    parts: list[QueryPart] = []
    kept: list[tuple[int, int, str]] = []
    query: dict[str, object] = {}
    filters: dict[str, object] = {}
    is_bare, asks = True, False
    at = 0
    while at < len(cursor.tokens):
        token = cursor.tokens[at]
        if token.kind == "plus":
            # The next token is a word, whatever its meaning.
            kept.append((token.start, token.end, ""))
            at += 2
            continue
        found = None
        if len(parts) < MOST_PARTS:
            found = next((one for rule in chosen if (one := rule(cursor, at))), None)
        if found is None:
            at += 1
            continue
        end = found.last or cursor.tokens[found.end - 1].end
        part = QueryPart(start=token.start, end=end, kind=found.kind, value=found.value)
        parts.append(part)
        if found.kept is not None:
            kept.append((part.start, part.end, found.kept))
        for name, value in found.change.items():
            if isinstance(value, tuple):
                value = (*query.get(name, ()), *value)  # type: ignore[misc]
            query[name] = value
        filters.update(found.filters)
        is_bare, asks = is_bare and found.is_bare, asks or found.asks
        at = found.end
    words = topic_of(cursor.text, kept, has_parts=bool(parts))
    bare: list[tuple[int, int, str]] = [
        (p.start, p.end, "") for p in parts if p.kind not in ("phrase", "kind")
    ]
    starts = {start for start, _, _ in bare}
    bare += [one for one in kept if one[0] not in starts]
    topic = topic_of(cursor.text, sorted(bare), has_parts=bool(parts))
    typed = msgspec.convert({**query, "topic": topic}, TypedQuery) if parts else TypedQuery()
    return Reading(
        words=words,
        understood=Understood(query=typed, parts=tuple(parts)),
        filters=filters,
        asks=asks,
        has_bare_names_only=is_bare,
    )


# Typed words in a normal spelling, with a mapping to the original.
#
# macOS pastes accents as separate characters, and a name copied from a `.bib` has LaTeX accents:
# all readers of the words see composed letters.

_DECOMPOSED = lazy_pattern(
    r"[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[\u2126\u212a\u212b]|"
    r"\w[^\w\s\x00-\u02ff\u2000-\u206f]+"
)
"""Characters that may compose: Hangul letters, three old signs, a letter and the marks on it."""
_BASE = r"(?:\\[ij](?![a-zA-Z])\s?|[^\W\d_])"
_ACCENT = (
    rf"\\(?:[`'^\"~=.]\s?|[uvHcdbrk](?:\s|(?=[{{\\])))"
    rf"(?:\{{\s?{_BASE}\s?\}}|\{{\s?\{{\s?{_BASE}\s?\}}\s?\}}|{_BASE})"
)
_LETTER = r"\\(?:ss|ae|AE|oe|OE|aa|AA|dh|DH|dj|DJ|th|TH|[oOlLij])(?![a-zA-Z])(?:\{\}|\s(?=\w))?"
_TEX = lazy_pattern(rf"\{{\s?(?:{_ACCENT}|{_LETTER})\s?\}}|{_ACCENT}|{_LETTER}")

KEY = lazy_pattern(r"(?<!\S)[^\W\d_]{2,}[_:]?(?:\d{4}|\d\d)(?:[-_:]?[^\W\d_]*)(?!\S)")
"""A word in the form of a key: "vaswani2017attention", "brown20"; "CoNLL-2011" names an event."""
_KEY_PARTS = lazy_pattern(r"([^\W\d_]+)[_:]?(\d+)[-_:]?([^\W\d_]*)")
NAME = lazy_pattern(r"\S(?:.*\S)?")
"""A whole text that may be a name."""
_MOST_NAME = 5
_ARTICLES = ("the", "a", "an")
_SHORTENED = {
    "norm": "normalization", "conv": "convolutional", "convs": "convolutions", "net": "network",
    "nets": "networks", "attn": "attention", "reg": "regularization", "opt": "optimization",
    "seg": "segmentation",
}  # fmt: skip
_BRITISH = lazy_pattern(r"(?i)\b(\w{3,}i)s(ation|ations|e|ed|er|ers|ing)\b")
_NO_NAME = GENERIC | frozenset(
    "asr decoder ir mt nlp nmt paper regularisation regularization smt word".split()
)
"""Words after a name that describe its bearer: "moses smt"."""
_OLDEST = 60
"""Two digits from here on are a year of the last century."""


class TypedText(msgspec.Struct, frozen=True):
    """A changed text, with the original characters of each character."""

    text: str
    starts: Sequence[int]
    """For each character, the start of its original; `ends`: the end of it."""
    ends: Sequence[int]

    def replaced(self, pattern: re.Pattern[str], instead: Callable[[str], str]) -> TypedText:
        """The text with each match replaced; a replacement maps to the whole of its match."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for match in pattern.finditer(self.text):
            new = instead(match[0])
            if not new or new == match[0]:
                continue
            start, end = match.span()
            pieces += (self.text[at:start], new)
            starts += (*self.starts[at:start], *[self.starts[start]] * len(new))
            ends += (*self.ends[at:start], *[self.ends[end - 1]] * len(new))
            at = end
        if not at:
            return self
        return TypedText(
            "".join((*pieces, self.text[at:])),
            [*starts, *self.starts[at:]],
            [*ends, *self.ends[at:]],
        )

    def in_original(self, understood: Understood) -> Understood:
        """The recognised parts of the text, with their positions in the original."""
        parts = tuple(
            msgspec.structs.replace(
                part, start=self.starts[part.start], end=self.ends[part.end - 1]
            )
            for part in understood.parts
        )
        return msgspec.structs.replace(understood, parts=_apart(parts))


def _apart(parts: tuple[QueryPart, ...]) -> tuple[QueryPart, ...]:
    """The parts without those that would begin inside the previous one: two parts may meet in one
    replacement."""
    found: list[QueryPart] = []
    for part in parts:
        if not found or part.start >= found[-1].end:
            found.append(part)
    return tuple(found)


def as_read(text: str) -> TypedText:
    """The typed text with composed accents, from combining marks or LaTeX."""
    found = TypedText(text, range(len(text)), range(1, len(text) + 1))
    if "\\" in text:
        found = found.replaced(_TEX, _letter)
    if not unicodedata.is_normalized("NFC", found.text):
        found = found.replaced(_DECOMPOSED, lambda marks: unicodedata.normalize("NFC", marks))
    return found


def key_words(key: str, now: int, is_author: Callable[[str, bool], bool]) -> str:
    """The words of a key, "brown 2020" for "brown20"; other texts are unchanged.

    `is_author` says whether a word is a surname, and whether it is more often one than a word of
    titles: "llama13" is no key. `now` is the year after which no paper is from.
    """
    found = _KEY_PARTS.fullmatch(key)
    if found is None:
        return key
    name, digits, rest = found.groups()
    year = int(digits)
    if len(digits) == 2:
        year += 2000 if year <= (now + 1) % 100 else 1900
        if year < 1900 + _OLDEST:
            return key
    if not 1900 <= year <= now + 1 or not is_author(name, len(digits) == 2):
        return key
    # A single letter distinguishes papers of one year.
    return f"{name} {year} {rest}" if len(rest) > 1 else f"{name} {year}"


def plain_names(text: str) -> Iterator[tuple[str, bool]]:
    """Other forms of the name that a short text may be, the likeliest first: "layer normalization"
    for "layer norm", "adam" for "the Adam optimizer"; and whether that is all of the text."""
    words = text.split()
    if len(words) > _MOST_NAME:
        return
    if len(words) > 1 and words[0].lower() in _ARTICLES:
        words = words[1:]
        yield " ".join(words), True
    full = [_written_out(word) for word in words]
    if full != words:
        yield " ".join(full), True
    while len(words) > 1 and words[-1].lower() in _NO_NAME:
        words, full = words[:-1], full[:-1]
        yield " ".join(words), False
        if full != words:
            yield " ".join(full), False


def _written_out(word: str) -> str:
    """The long form of a common abbreviation, in American spelling."""
    long = _SHORTENED.get(word.lower())
    return long or _BRITISH.sub(r"\1z\2", word)


def _letter(markup: str) -> str:
    """The letter that the markup prints; empty if it prints none, as for `\"q`."""
    shown = tex_to_unicode(markup)
    return shown if shown.isalpha() else ""


_RELATIONS = ("cites", "cited_by", "like")


def structured(query: Query, now: int | None = None) -> Query:
    """The query with the ranges of years and the fields of its typed words as filters, and the rest
    as its words, as far as possible without a library.

    `now` is the year that "the last 5 years" counts from: that of the citing paper if known, else
    the current one. Existing filters of the query stay.
    """
    if not query.text:
        return query
    query = msgspec.structs.replace(query, text=as_read(query.text).text)
    found, _ = with_conditions(query, read_query(query.text, now=now or query.paper.year))
    return msgspec.structs.replace(found, typed_query=TypedQuery())


def with_conditions(query: Query, reading: Reading) -> tuple[Query, Understood]:
    """The query with the interpretation of its words. Existing filters stay.

    If no word is left ("NeurIPS 2017", "kind:survey"), the conditions become filters.
    """
    understood = reading.understood
    typed = understood.query
    is_plain = _is_plain(reading)
    if is_plain and not typed.authors:
        return query, understood  # a single year is left to the ranker
    is_single = typed.year_from is not None and typed.year_from == typed.year_to
    if (
        typed.year_from is not None
        and typed.year_to is not None
        and ((is_plain and not _names_coauthors(query, reading)) or (is_single and query.sentence))
    ):
        # Adjacent years also count, since people often err by one. In a search the year is a
        # condition; in a placeholder it identifies the paper.
        typed = msgspec.structs.replace(
            typed, year_from=typed.year_from - 1, year_to=typed.year_to + 1
        )
    words = query.text if is_plain else reading.words
    filters = dict(reading.filters)
    title_kind = filters.pop("title_kind", "")
    has_topic = typed.topic and (query.kind or "kind" in filters or typed.topic != title_kind)
    if not has_topic and not query.sentence:
        related = [part.value for part in understood.parts if part.kind in _RELATIONS]
        if related:
            words = " ".join(related)  # "papers citing BERT": its name is the only word
        elif not typed.authors and not typed.phrases:
            # "NeurIPS 2017": there are only conditions.
            filters.setdefault("venue", next(iter(typed.venues), ""))
            filters.setdefault("kind", title_kind)
            if typed.venues or title_kind or typed.min_citations is not None:
                words = ""
                filters |= {"year_from": typed.year_from, "year_to": typed.year_to}
    given = (query.author, query.venue, query.kind, query.language, *filters.values())
    if not words.strip() and not any((*given, typed.min_citations)):
        words = query.text
    if words == query.text and not understood.parts:
        return query, understood
    own = {name for name in filters if getattr(query, name) not in ("", None)}
    changed = msgspec.structs.replace(
        query,
        text=words,
        typed_query=typed,
        **{name: value for name, value in filters.items() if name not in own},
    )
    return changed, understood


def _names_coauthors(query: Query, reading: Reading) -> bool:
    """Whether the words are surnames joined by "and", with a year: "Kingma and Welling 2014"."""
    parts = [query.text[part.start : part.end] for part in reading.understood.parts
             if part.kind == "author"]  # fmt: skip
    return any(re.search(r"\s(?:and|&)\s", part) for part in parts)


def _is_plain(reading: Reading) -> bool:
    """Whether only surnames and years were recognised: these words are searched unchanged."""
    return bool(reading.understood.parts) and reading.has_bare_names_only
