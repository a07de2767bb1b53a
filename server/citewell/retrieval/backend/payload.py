"""The fields of a point beside its vectors, and the filters of a query as conditions on them.

The numbers are made as the embedded facets make theirs, so that the same works pass: a number of an
author is that of the surname and, in its lower bits, of what is known of the given name.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import title_key
from citewell.model import Author, Query, Work
from citewell.model.languages import language_code
from citewell.model.names import NameForm, forms_of, wanted_forms
from citewell.retrieval.backend.contract import (
    AUTHOR,
    CITATIONS,
    KEY,
    KIND,
    LANGUAGE,
    RETRACTED,
    VENUE,
    YEAR,
    AnyOf,
    Between,
    Condition,
    Payload,
)
from citewell.retrieval.facets import entry_types, text_hash, title_words, venue_term_hashes
from citewell.retrieval.filters import venue_filter

_GIVEN_BITS = 31
_TITLE_KIND = "title:"
"""Before a word of titles that names a kind: "survey" is no entry type."""
NOT_STATED = text_hash("")
"""Language of a work of which no source states it: a field of its own value, because Qdrant 1.14.1
does not find new points by a condition that asks for a missing field."""


def payloads_of(
    works: Sequence[Work], years: NDArray[np.int16], titled: Mapping[str, NDArray[np.bool_]]
) -> Iterator[Payload]:
    """The payload of each work. `years` are the library's, and `titled` says of the words of titles
    that name kinds which of the works have them."""
    for place, work in enumerate(works):
        words = (_title_number(word) for word, has in titled.items() if has[place])
        payload: Payload = {
            KIND: [text_hash(work.kind), *words],
            VENUE: sorted(venue_term_hashes(work)),
            AUTHOR: sorted({number for author in work.authors for number in _numbers(author)}),
            # Numbers of a payload have a sign.
            KEY: title_key(work.title) - (1 << 63),
            LANGUAGE: text_hash(work.language),
        }
        if years[place] > 0:
            payload[YEAR] = int(years[place])
        if work.citations is not None:
            payload[CITATIONS] = round(float(np.log1p(max(0, work.citations))), 3)
        if work.retracted:
            payload[RETRACTED] = True
        yield payload


def conditions_of(query: Query, *, has_facets: bool) -> tuple[Condition, ...] | None:
    """The filters of a query as conditions; None where one of them cannot be expressed.

    `has_facets`: the embedded indexes compare authors and venues by the same numbers.
    """
    typed = query.typed_query
    if typed.none_of or typed.min_citations is not None:
        return None
    if not has_facets and (query.author.strip() or query.venue.strip()):
        return None
    found: list[Condition] = []
    low, high = query.year_from, query.year_to
    if low is not None or high is not None:
        found.append(Between(YEAR, max(1, low or 1), 9999 if high is None else high))
    if query.author.strip():
        found += _by(query.author)
    if query.venue.strip():
        found += _at(query.venue)
    if query.kind.strip():
        found.append(_of_kind(query.kind))
    if query.language.strip():
        found.append(_in_language(language_code(query.language), strict=query.strict_language))
    return tuple(found)


def _by(text: str) -> Iterable[Condition]:
    people = wanted_forms(text)
    if not people:
        return (AnyOf(AUTHOR, ()),)
    return [
        AnyOf(AUTHOR, tuple(sorted({number for form in forms for number in _fitting(form)})))
        for forms in people
    ]


def _at(text: str) -> Iterable[Condition]:
    wanted = venue_filter(text)
    if wanted.ids:
        yield AnyOf(VENUE, tuple(text_hash(f"={one}") for one in wanted.ids))
    for word in dict.fromkeys(() if wanted.ids else wanted.words):
        yield AnyOf(VENUE, (text_hash(word),))
    if wanted.year is not None:
        yield Between(YEAR, wanted.year, wanted.year)
    elif not wanted.ids and not wanted.words:
        yield AnyOf(VENUE, ())


def _of_kind(text: str) -> Condition:
    words = title_words(text)
    if words:
        return AnyOf(KIND, tuple(_title_number(word) for word in words))
    return AnyOf(KIND, tuple(text_hash(one) for one in entry_types(text)))


def _in_language(code: str, *, strict: bool) -> Condition:
    if not code:
        return AnyOf(LANGUAGE, ())
    return AnyOf(LANGUAGE, (text_hash(code),) if strict else (text_hash(code), NOT_STATED))


def _title_number(word: str) -> int:
    return text_hash(_TITLE_KIND + word)


@lru_cache(maxsize=65536)
def _numbers(author: Author) -> tuple[int, ...]:
    """What `_fitting` forms of a name may ask for."""
    found: dict[int, None] = {}
    for form in forms_of(author):
        found[_number(form.family)] = None
        if form.initial:
            found[_number(form.family, "initial", form.initial)] = None
            how = ("given", form.given) if form.given else ("only", form.initial)
            found[_number(form.family, *how)] = None
    return tuple(found)


def _fitting(form: NameForm) -> Iterator[int]:
    """The numbers of authors whose name the form fits, as `Facets.by` compares them."""
    if not form.initial:
        yield _number(form.family)
    elif not form.given:
        yield _number(form.family, "initial", form.initial)
    else:
        yield _number(form.family, "given", form.given)
        yield _number(form.family, "only", form.initial)


def _number(family: str, part: str = "", text: str = "") -> int:
    low = zlib.crc32(f"{part}:{text}".encode("utf-8", "surrogatepass")) if part else 0
    return text_hash(family) << _GIVEN_BITS | low >> 1
