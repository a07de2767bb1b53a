"""The fields of a point beside its vectors, and the filters of a query as conditions on them.

The numbers are computed like those of the embedded facets, so that the same works pass: an author's
number combines the surname and, in its lower bits, the known part of the given name.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import title_key
from citewell.model import Author, Query, Work
from citewell.model.names import NameForm, forms_of
from citewell.retrieval.attributes import (
    ATTRIBUTES,
    AUTHOR,
    KEYWORD,
    KIND,
    LANGUAGE,
    TITLED,
    VENUE,
    YEAR,
    HasTerm,
)
from citewell.retrieval.backend.contract import (
    CITATIONS,
    KEY,
    RETRACTED,
    AnyOf,
    Condition,
    Payload,
)
from citewell.retrieval.facets import text_hash, venue_term_hashes
from citewell.retrieval.query_grammar.words import TITLE_WORDS, is_of_kind

_GIVEN_BITS = 31


def payloads_of(works: Sequence[Work], years: NDArray[np.int16]) -> Iterator[Payload]:
    """The payload of each work. `years` are the library's."""
    for place, work in enumerate(works):
        titled = (kind for kind in TITLE_WORDS if is_of_kind(work.title, kind))
        payload: Payload = {
            KIND: [text_hash(work.kind), *(text_hash(TITLED + kind) for kind in titled)],
            VENUE: sorted(venue_term_hashes(work)),
            AUTHOR: sorted({number for author in work.authors for number in _numbers(author)}),
            # Numbers in a payload are signed.
            KEY: title_key(work.title) - (1 << 63),
            # Qdrant 1.14.1 does not find new points by a condition on a missing field.
            LANGUAGE: text_hash(work.language),
        }
        if years[place] > 0:
            payload[YEAR] = int(years[place])
        if work.citations is not None:
            payload[CITATIONS] = round(float(np.log1p(max(0, work.citations))), 3)
        if work.retracted:
            payload[RETRACTED] = True
        yield payload


def conditions_of(query: Query) -> tuple[Condition, ...] | None:
    """The filters of a query as conditions; None if one cannot be expressed."""
    typed = query.typed_query
    if typed.none_of or typed.min_citations is not None:
        return None
    found: list[Condition] = []
    for attribute in ATTRIBUTES:
        required = attribute.required(query)
        if required and attribute.name == KEYWORD:
            return None
        found += [
            AnyOf(one.field, _numbers_of(one)) if isinstance(one, HasTerm) else one
            for one in required
        ]
    return tuple(found)


def _numbers_of(required: HasTerm) -> tuple[int, ...]:
    if required.field != AUTHOR:
        return tuple(text_hash(term) for term in required.terms)
    return tuple(sorted({number for form in required.terms for number in _fitting(form)}))


@lru_cache(maxsize=65536)
def _numbers(author: Author) -> tuple[int, ...]:
    """The numbers under which forms of the name are found (see `_fitting`)."""
    found: dict[int, None] = {}
    for form in forms_of(author):
        found[_number(form.family)] = None
        if form.initial:
            found[_number(form.family, "initial", form.initial)] = None
            how = ("given", form.given) if form.given else ("only", form.initial)
            found[_number(form.family, *how)] = None
    return tuple(found)


def _fitting(form: NameForm) -> Iterator[int]:
    """The numbers of authors with names that fit the form, as in `Facets.by`."""
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
