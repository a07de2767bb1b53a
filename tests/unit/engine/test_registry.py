"""A retriever is one row: this module adds one, and every place that knows retrievers has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.features.text.evidence import why
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval import registry
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.facets import FacetsBuilder
from citewell.retrieval.opening import Opening
from citewell_corpus.build import build_library
from citewell_corpus.sources import source_at
from citewell_lab.evaluation import methods


class Newest(Retriever):
    """The newest papers first, whatever is asked."""

    name = "newest"

    def __init__(self, years: np.ndarray) -> None:
        self._years = years

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        rows = np.argsort(-self._years, kind="stable")[:k].astype(np.int64)
        return Ranking(rows, self._years[rows].astype(np.float32))

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        return [self.search(query, k, cancel) for query in queries]

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        return Evidence(self.name, rank, score, ("year",))


def open_newest(opening: Opening) -> Newest:
    return Newest(opening.library.columns().year)


ROW = registry.RetrieverSpec(name="newest", label="the year", option="bm25", open=open_newest)
"""Under the switch of another retriever, for the tree of settings is no place for a test."""


@pytest.fixture
def options(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Options]:
    """Settings of a small library, with the row in the registry and nothing else changed."""
    monkeypatch.setattr(registry, "RETRIEVERS", (*registry.RETRIEVERS, ROW))
    folder = tmp_path_factory.mktemp("libraries")
    records = folder / "records.jsonl"
    records.write_text(
        "".join(
            f'{{"id": "t:{year}", "title": "Attention of {year}", "year": {year}, '
            '"authors": ["A. Ruiz"], "kind": "article", "source": "test-records"}\n'
            for year in range(1990, 2020)
        ),
        encoding="utf-8",
    )
    base = Options()
    builders = [FacetsBuilder(), *registry.builders(base)]
    build_library(folder / "small", add=[source_at(str(records))], builders=builders)
    yield replace(base, library=replace(base.library, path=folder, name="small"))


def test_a_row_is_all_that_the_engine_needs(options: Options) -> None:
    engine = LocalEngine.open(options)
    try:
        assert engine.status().retrievers == ("bm25", "dense", "newest")
        result = engine.find(Query(sentence="We use attention [CITATION]."), 40)
        assert "newest" in result.timings and not result.dropped
        newest = next(hit for hit in result.hits if hit.work.year == 2019)
        proof = next(one for one in newest.evidence if one.retriever == "newest")
        assert (proof.rank, proof.fields) == (1, ("year",))
        assert "newest #1" in why(newest)
    finally:
        engine.close()


def test_one_that_cannot_be_opened_costs_itself_alone(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(opening: Opening) -> Newest:
        raise ValueError("no years today")

    rows = (*registry.RETRIEVERS[:-1], replace(ROW, open=broken))
    monkeypatch.setattr(registry, "RETRIEVERS", rows)
    engine = LocalEngine.open(options)
    try:
        (problem,) = engine.status().problems
        assert problem.code == "retriever-failed" and "no years today" in problem.message
        assert engine.find(Query(text="attention")).hits
    finally:
        engine.close()


def test_an_evaluation_can_leave_any_of_them_out_by_its_public_name() -> None:
    options = Options()
    for row in registry.RETRIEVERS:
        if row.option:
            changed = methods.without(row.name, options)
            assert not row.is_on(changed.options(options))
