"""Conditions on the payload of points let exactly the papers pass that a query's filters do."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.corpus.columns import title_key
from citewell.corpus.layout import SegmentView
from citewell.model import Author, Query, Work
from citewell.model.query import TypedQuery
from citewell.retrieval.attributes import YEAR, Between
from citewell.retrieval.backend.contract import (
    CITATIONS,
    KEY,
    RETRACTED,
    AnyOf,
    Condition,
    Payload,
)
from citewell.retrieval.backend.payload import conditions_of, payloads_of
from citewell.retrieval.facets import Facets, FacetsBuilder
from citewell.retrieval.filters import Filters

FAMILIES = ("Wang", "van der Berg", "Müller-Lüdenscheidt", "Li", "ACL Committee", "李")
GIVEN = ("", "W.", "Wei", "Wei Ann", "A. Wei", "Kai-Wei")
NAMES = [Author(family, given) for family, given in product(FAMILIES, GIVEN)]
VENUES = (
    "NIPS", "Proceedings of the 12th Workshop on Figurative Language Processing", "",
    "Findings of the Association for Computational Linguistics: EMNLP 2020", "Journal of Orchards",
)  # fmt: skip
WORKS = [
    Work(
        id=f"w:{number}",
        title=f"Title {number}",
        authors=tuple(NAMES[at % len(NAMES)] for at in range(number, number + number % 3 * 5, 5)),
        year=None if number % 11 == 0 else 1990 + number % 30,
        venue=VENUES[number % len(VENUES)],
        journal=VENUES[-1 - number % 3],
    )
    for number in range(120)
]
YEARS = np.array([work.year or 0 for work in WORKS], np.int16)
PAYLOADS = list(payloads_of(WORKS, YEARS))


@pytest.fixture(scope="module")
def filters(tmp_path_factory: pytest.TempPathFactory) -> Filters:
    folder = tmp_path_factory.mktemp("segment")
    builder = FacetsBuilder()
    (folder / builder.name).mkdir()
    builder.build(lambda: iter(WORKS), len(WORKS), folder / builder.name, lambda rows: None)
    view = SegmentView(path=folder, base=0, count=len(WORKS))
    return Filters(YEARS, None, Facets([view]))


def meets(payload: Payload, one: Condition) -> bool:
    """Whether a point meets a condition, as a back end decides it."""
    value: Any = payload.get(one.field, [])
    values = value if isinstance(value, list) else [value]
    if isinstance(one, Between):
        return any(one.least <= number <= one.most for number in values)
    return any(number in one.numbers for number in values)


def passing(query: Query) -> list[int]:
    conditions = conditions_of(query)
    assert conditions is not None
    return [
        row for row, payload in enumerate(PAYLOADS)
        if all(meets(payload, one) for one in conditions)
    ]  # fmt: skip


@given(
    author=st.sampled_from(
        ["", "Wang", "W. Wang", "Wei Wang", "Wang Wei", "Berg", "Ann van der Berg", "Li and Wang",
         "Kai-Wei Li", "Kaiwei Li", "Mueller", "Committee", "李", "!", "A. Li; W. Wang"],
    ),
    venue=st.sampled_from(
        ["", "NeurIPS", "NIPS 1990", "figurative language", "EMNLP", "orchards", "'99", "1999",
         "EMNLP 2020 findings", "Nowhere"],
    ),
    low=st.none() | st.integers(-1, 2030),
    high=st.none() | st.integers(-1, 2030),
)  # fmt: skip
def test_the_same_papers_pass(
    filters: Filters, author: str, venue: str, low: int | None, high: int | None
) -> None:
    query = Query(author=author, venue=venue, year_from=low, year_to=high)
    mask = filters(query)
    expected = range(len(WORKS)) if mask is None else np.flatnonzero(mask).tolist()
    assert passing(query) == list(expected)


def test_no_number_leaves_the_range_of_signed_64_bits() -> None:
    for payload in PAYLOADS:
        for value in payload.values():
            for number in value if isinstance(value, list) else [value]:
                assert -(1 << 63) <= number < 1 << 63


def test_what_is_not_known_of_a_work_is_left_out() -> None:
    known = Work(id="w:1", title="A Title", year=2000, citations=9, retracted=True)
    lists = payloads_of([known, WORKS[0]], np.array([2000, 0], np.int16))
    first, second = lists
    assert first[YEAR] == 2000 and first[RETRACTED] is True
    assert first[CITATIONS] == pytest.approx(np.log(10), abs=1e-3)
    assert first[KEY] == title_key("A title") - (1 << 63)
    assert not {YEAR, RETRACTED, CITATIONS} & set(second)


def test_no_condition_asks_for_a_missing_field() -> None:
    """Qdrant 1.14.1 does not find new points by `is_empty`."""
    german = Work(id="w:1", title="Ein Titel", language="de")
    stated, not_stated = payloads_of([german, WORKS[0]], np.zeros(2, np.int16))
    (either,) = conditions_of(Query(language="German")) or ()
    (strict,) = conditions_of(Query(language="de", strict_language=True)) or ()
    assert meets(stated, either) and meets(not_stated, either)
    assert meets(stated, strict) and not meets(not_stated, strict)
    (other,) = conditions_of(Query(language="fr")) or ()
    assert not meets(stated, other) and meets(not_stated, other)


def test_other_filters_are_not_expressed() -> None:
    for typed in (TypedQuery(none_of=("speech",)), TypedQuery(min_citations=0)):
        assert conditions_of(Query(year_from=2000, typed_query=typed)) is None
    assert conditions_of(Query(year_from=2000)) == (Between(YEAR, 2000, 9999),)
    assert conditions_of(Query(text="words")) == ()
    nothing = conditions_of(Query(author="!"))
    assert nothing == (AnyOf("author", ()),)
