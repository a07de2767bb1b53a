"""Author, venue, year, kind, language and keyword: their values in works, their conditions in
queries.

`ATTRIBUTES` has a row for each. A filter, or a preference of typed words, becomes requirements, all
of which a work must meet. `Filters` finds the rows of a library that meet them, `passes` tests a
record, and `backend.payload` sends them to a back end. `wishes` gives the points of preferences, by
which `criteria` and literature searches sort.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from citewell.model import Query, Work
from citewell.model.languages import language_code
from citewell.model.names import forms_of, wanted_forms
from citewell.model.query import TypedQuery
from citewell.model.titles import normalise_title
from citewell.model.venues import ACRONYMS, SHORT, content_words, venue_ids, work_venues
from citewell.retrieval.query_grammar.words import ENTRY_TYPES, KINDS, is_of_kind
from citewell.retrieval.words import split

AUTHOR, VENUE, YEAR, KIND, LANGUAGE, KEYWORD = (
    "author", "venue", "year", "kind", "language", "keyword"
)  # fmt: skip
"""The attributes; a back end has fields of these names."""
TITLED = "title:"
"""Prefix of a kind that titles mark: "survey" is no entry type."""
AUTHOR_POINTS, VENUE_POINTS, YEAR_POINTS, NEAR_YEAR_POINTS = 4.0, 1.5, 1.5, 0.75
"""Points of a paper for meeting each preference; all authors together count once."""
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_SHORT_YEAR = re.compile(r"(?<=[A-Za-z])\s?['’]?(\d\d)$")
_CAPITALS = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z])\w+")


class HasTerm(msgspec.Struct, frozen=True):
    """A work must have one of the terms; no work meets an empty one."""

    field: str
    terms: tuple[Any, ...]
    """Authors: forms of a name. Venues: "=" and an id, or a word of the name. Kinds: an entry type,
    or `TITLED` and a kind. Languages: a code, or "" for an unknown language. Keywords: a whole one,
    normalised like a title."""


class Between(msgspec.Struct, frozen=True):
    """A number must be in a range, both ends included; the number of an unknown year is 0."""

    field: str
    least: int
    most: int


Requirement = HasTerm | Between
Requirements = tuple[Requirement, ...]


@lru_cache(maxsize=256)
def authors_named(text: str) -> Requirements:
    """All people in the text must be authors; no work meets a text without a name."""
    return tuple(HasTerm(AUTHOR, forms) for forms in wanted_forms(text)) or (HasTerm(AUTHOR, ()),)


@lru_cache(maxsize=256)
def venue_named(text: str) -> Requirements:
    """The venue of "NIPS 2017" or "Workshop on Figurative Language"; a year is one of publication.
    For a venue outside the table, the name must contain all the words."""
    year = None
    if found := _YEAR.search(text):
        year = int(found[1])
        text = f"{text[: found.start()]} {text[found.end() :]}"
    elif found := _SHORT_YEAR.search(text.strip()):
        short = int(found[1])
        name = text.strip()[: found.start()]
        if normalise_title(name) in SHORT:
            year = (1900 if short > 50 else 2000) + short
            text = name
    required: list[Requirement] = []
    if ids := venue_ids(text):
        required.append(HasTerm(VENUE, tuple(f"={name}" for name in sorted(ids))))
    else:
        words = content_words(text) or [word.decode() for word in split(text)]
        required += [HasTerm(VENUE, (word,)) for word in dict.fromkeys(words)]
    if year is not None:
        required.append(Between(YEAR, year, year))
    return tuple(required) or (HasTerm(VENUE, ()),)


def years_between(low: int | None, high: int | None) -> Requirements:
    """A range of years with open ends."""
    if low is None and high is None:
        return ()
    return (Between(YEAR, max(1, low or 1), 9999 if high is None else high),)


def of_kind(text: str) -> Requirements:
    """An entry type, or a kind that titles mark, such as "survey"."""
    name = text.strip().lower()
    titled = KINDS.get(name)
    return (HasTerm(KIND, (TITLED + titled,) if titled else ENTRY_TYPES.get(name, (name,))),)


def in_language(text: str, *, strict: bool) -> Requirements:
    """A language by code or name; unless `strict`, papers without a stated language meet it,
    too."""
    code = language_code(text)
    return (HasTerm(LANGUAGE, () if not code else (code,) if strict else (code, "")),)


def venues_in(work: Work) -> frozenset[str]:
    """Ids of the venues of a record, including those that its venue names only by an acronym
    ("Findings of the Association for Computational Linguistics: EMNLP 2020")."""
    found = set(work_venues(work))
    for text in (work.venue, work.booktitle, work.journal):
        if text:
            found |= _named_by_acronym(text)
    return frozenset(found)


@lru_cache(maxsize=16384)
def _named_by_acronym(text: str) -> frozenset[str]:
    names = (name.lower() for name in _CAPITALS.findall(text))
    return frozenset(ACRONYMS[name] for name in names if name in ACRONYMS)


def venue_terms(work: Work) -> Iterable[str]:
    """The terms of a record's venue."""
    yield from (f"={name}" for name in venues_in(work))
    yield from _distinctive_words(f"{work.venue} {work.booktitle} {work.journal}")


@lru_cache(maxsize=16384)
def _distinctive_words(texts: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(content_words(texts)))


def _is_by(work: Work, required: Any) -> bool:
    forms = [form for author in work.authors for form in forms_of(author)]
    return any(term.fits(form) for term in required.terms for form in forms)


def _is_of_kind(work: Work, required: Any) -> bool:
    return work.kind in required.terms or any(
        is_of_kind(work.title, kind)
        for term in required.terms
        if (kind := term.removeprefix(TITLED)) != term
    )


def _years_shown(query: Query) -> str:
    low, high = query.year_from, query.year_to
    if low is None:
        return f"of {high} or earlier"
    if high is None:
        return f"of {low} or later"
    return f"of {low}" if low == high else f"of {low} to {high}"


def _language_shown(query: Query) -> str:
    shown = f"in the language {query.language.strip()[:100]!r}"
    return shown if query.strict_language else f"{shown} or none stated"


class Attribute(msgspec.Struct, frozen=True):
    """An attribute: its filter in a query, and its test of a record."""

    name: str
    required: Callable[[Query], Requirements]
    """The requirements of the filter; empty without one."""
    shown: Callable[[Query], str]
    """The filter in words."""
    is_met: Callable[[Work, Any], bool]
    """Whether a record meets one of the requirements."""


ATTRIBUTES = (
    Attribute(
        YEAR,
        lambda query: years_between(query.year_from, query.year_to),
        _years_shown,
        lambda work, required: required.least <= (work.year or 0) <= required.most,
    ),
    Attribute(
        AUTHOR,
        lambda query: authors_named(query.author) if query.author.strip() else (),
        lambda query: f"by {query.author.strip()[:100]!r}",
        _is_by,
    ),
    Attribute(
        VENUE,
        lambda query: venue_named(query.venue) if query.venue.strip() else (),
        lambda query: f"of the venue {query.venue.strip()[:100]!r}",
        lambda work, required: not set(required.terms).isdisjoint(venue_terms(work)),
    ),
    Attribute(
        KIND,
        lambda query: of_kind(query.kind) if query.kind.strip() else (),
        lambda query: f"of the kind {query.kind.strip()[:100]!r}",
        _is_of_kind,
    ),
    Attribute(
        LANGUAGE,
        lambda query: (
            in_language(query.language, strict=query.strict_language)
            if query.language.strip()
            else ()
        ),
        _language_shown,
        lambda work, required: work.language in required.terms,
    ),
    Attribute(
        KEYWORD,
        lambda query: (
            (HasTerm(KEYWORD, (normalise_title(query.keyword),)),) if query.keyword.strip() else ()
        ),
        lambda query: f"with the keyword {query.keyword.strip()[:100]!r}",
        lambda work, required: any(normalise_title(one) in required.terms for one in work.keywords),
    ),
)
_BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}


def meets(work: Work, requirements: Requirements) -> bool:
    """Whether a record meets all requirements."""
    return all(_BY_NAME[one.field].is_met(work, one) for one in requirements)


def passes(query: Query, work: Work) -> bool:
    """Whether a record passes the filters of a query by attributes."""
    return all(meets(work, attribute.required(query)) for attribute in ATTRIBUTES)


class Wish(msgspec.Struct, frozen=True):
    """A preference of typed words."""

    points: float
    """Points of a paper that meets it."""
    requirements: Requirements
    field: str = ""
    """The field in the evidence; empty for a year adjacent to the requested one."""
    text: str = ""
    """The name as typed."""


def wishes(typed: TypedQuery) -> list[Wish]:
    """The preferences of typed words by author, venue and year."""
    authors, venues = typed.authors, typed.venues
    found = [Wish(AUTHOR_POINTS / len(authors), authors_named(n), "authors", n) for n in authors]
    found += [Wish(VENUE_POINTS / len(venues), venue_named(n), "venue", n) for n in venues]
    if years := years_between(typed.year_from, typed.year_to):
        found.append(Wish(YEAR_POINTS, years, "year"))
        if typed.year_from is not None and typed.year_from == typed.year_to:
            beside = (typed.year_from - 1, typed.year_from + 1)
            found += [Wish(NEAR_YEAR_POINTS, (Between(YEAR, one, one),)) for one in beside]
    return found
