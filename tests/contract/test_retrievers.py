"""Every retriever keeps `retrieval.contract.Retriever`."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from tests.fakes.hashed_words import NAME

from citewell.corpus.library import Library
from citewell.model import CitingPaper, Query
from citewell.model.cancel import Cancel, Cancelled
from citewell.retrieval.contract import Retriever
from citewell.retrieval.encoders.registry import further_name
from citewell.retrieval.registry import RETRIEVERS

RICH = Query(
    text="parsing attention",
    sentence="We parse with attention [CITATION], unlike others [OTHER].",
    before=("Weather matters in valleys.",),
    paper=CitingPaper(title="Speech in orchards"),
)
QUERIES = [
    RICH,
    Query(),
    Query(text="orchards"),
    Query(text="zzz qqq"),
    Query(sentence="[CITATION]"),
]


BUILT = [*(row.name for row in RETRIEVERS if row.builder), further_name(NAME)]
"""Retrievers with an index of their own: those of the table, and an encoder beside the static."""


@pytest.fixture(params=BUILT)
def retriever(request: pytest.FixtureRequest, retrievers: dict[str, Retriever]) -> Retriever:
    return retrievers[request.param]


@pytest.fixture
def dead(library: Library) -> Iterator[set[int]]:
    rows: set[int] = set()
    for segment in library.segments:
        if segment.dead is not None:
            rows |= set((np.flatnonzero(segment.dead) + segment.base).tolist())
    assert rows, "the library of these tests has a dead row"
    yield rows


def test_rows_are_distinct_live_and_best_first(
    retriever: Retriever, library: Library, dead: set[int]
) -> None:
    answer = retriever.search(RICH, 100, Cancel())
    rows = answer.rows.tolist()
    assert 0 < len(rows) <= 100 and len(answer.scores) == len(rows)
    assert len(set(rows)) == len(rows) and not set(rows) & dead
    assert all(0 <= row < library.rows for row in rows)
    assert (np.diff(answer.scores) <= 0).all() and np.isfinite(answer.scores).all()


@pytest.mark.parametrize("query", [Query(), Query(sentence="[CITATION]"), Query(text="?!")])
def test_nothing_is_found_for_nothing(retriever: Retriever, query: Query) -> None:
    assert len(retriever.search(query, 10, Cancel()).rows) == 0


def test_fewer_are_the_head_of_more(retriever: Retriever) -> None:
    few, many = retriever.search(RICH, 5, Cancel()), retriever.search(RICH, 40, Cancel())
    assert few.rows.tolist() == many.rows[:5].tolist()


def test_a_batch_answers_as_single_searches(retriever: Retriever) -> None:
    for query, answer in zip(QUERIES, retriever.search_batch(QUERIES, 20, Cancel()), strict=True):
        assert answer.rows.tolist() == retriever.search(query, 20, Cancel()).rows.tolist()


def test_years_filter(retriever: Retriever, library: Library) -> None:
    query = Query(text="orchards parsing", year_from=2010, year_to=2015)
    rows = retriever.search(query, 300, Cancel()).rows
    years = library.columns().year[rows]
    assert len(rows) and years.min() >= 2010 and years.max() <= 2015


def test_a_hit_is_explained_by_its_own_retriever(retriever: Retriever) -> None:
    answer = retriever.search(RICH, 3, Cancel())
    evidence = retriever.explain(RICH, int(answer.rows[0]), 1, float(answer.scores[0]))
    assert evidence.retriever == retriever.name and evidence.rank == 1
    assert evidence.fields


def test_a_cancelled_search_stops(retriever: Retriever) -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        retriever.search(RICH, 10, cancel)
    with pytest.raises(Cancelled):
        retriever.search_batch([RICH, RICH], 10, cancel)


def test_threads_get_what_one_gets(retriever: Retriever) -> None:
    expected = retriever.search(RICH, 20, Cancel()).rows.tolist()
    found: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda: found.extend(
                retriever.search(RICH, 20, Cancel()).rows.tolist() for _ in range(15)
            )
        )
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 75 and all(rows == expected for rows in found)
