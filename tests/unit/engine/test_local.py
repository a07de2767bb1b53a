from __future__ import annotations

import gc
import json
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.corpus.library import Library
from citewell.engine.local import LocalEngine
from citewell.engine.retrievers import Opened, open_retrievers
from citewell.model import CitewellError, Evidence, Problem, Query
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.retrieval.contract import Ranking, Retriever

TITLES = (
    ("Grafting Orchards in Dry Valleys", "We graft apple trees and measure yield.", 2001, "Long"),
    ("Orchard Yield from Weather", "A network predicts yield from weather.", 2019, "Ruiz"),
    ("Attention in Neural Translation", "Translation with attention over words.", 2016, "Long"),
    ("Parsing with Attention", "Attention helps a neural parser of sentences.", 2018, "Ruiz"),
    ("Café Culture and its Words", "A field study of speakers.", 2012, "Müller"),
    ("Word Vectors from Counts", "Vectors of words from global counts.", 2014, "Haddad"),
)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Settings whose library holds the works above, with every index; no learned ranker."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    folder = tmp_path_factory.mktemp("libraries")
    records = folder / "records.jsonl"
    lines = [
        {
            "id": f"t:{number}",
            "title": title,
            "abstract": abstract,
            "year": year,
            "authors": [f"A. {family}"],
            "kind": "inproceedings",
            "venue": "AGR" if number < 2 else "LNG",
            "doi": f"10.5555/{number}",
            "source": "test-records",
        }
        for number, (title, abstract, year, family) in enumerate(TITLES)
    ]
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    base = Options()
    build_library(
        folder / "small",
        add=[FileSource(path=str(records), format="records")],
        builders=default_builders(base),
    )
    return replace(
        base,
        library=replace(base.library, path=folder, name="small"),
        retrieval=replace(base.retrieval, ranker="none"),
    )


@pytest.fixture
def engine(options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(options)
    yield engine
    engine.close()


class Broken(Retriever):
    """A retriever whose every search fails."""

    name = "broken"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        raise self.error

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        raise self.error

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        raise self.error


class Hanging(Broken):
    """A retriever that answers only when it is let go, deaf to every cancel."""

    name = "hanging"

    def __init__(self) -> None:
        super().__init__(RuntimeError())
        self.let_go = threading.Event()
        self.searches = 0

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        self.searches += 1
        self.let_go.wait(20)
        return Ranking(np.array([0]), np.array([1.0], np.float32))


def opened_with(
    extra: Retriever, timeout_ms: int, options: Options, first_seconds: float = 0.0
) -> LocalEngine:
    def open_with(library: Library, options: Options) -> Opened:
        found = open_retrievers(library, options)
        return Opened({**found.retrievers, extra.name: extra}, found.encoder, found.problems)

    retrieval = replace(options.retrieval, timeout_ms=timeout_ms)
    return LocalEngine.open(
        replace(options, retrieval=retrieval), retrievers=open_with, first_seconds=first_seconds
    )


def titles(engine: LocalEngine, query: Query, k: int = 5) -> list[str]:
    return [hit.work.title for hit in engine.find(query, k).hits]


def test_both_retrievers_explain_the_best_paper(engine: LocalEngine) -> None:
    result = engine.find(Query(text="attention for parsing sentences"))
    best = result.hits[0]
    assert best.work.title == "Parsing with Attention"
    by_name = {evidence.retriever: evidence for evidence in best.evidence}
    assert {"bm25", "dense"} <= set(by_name)
    assert by_name["bm25"].rank == 1
    assert set(by_name["bm25"].terms) == {"attention", "parsing", "sentences"}
    assert {"title", "abstract"} <= set(by_name["bm25"].fields)
    assert not result.dropped and not result.problems
    assert {"bm25", "dense", "fusion", "ranking", "records", "total"} <= set(result.timings)


def test_typed_filters_hold_for_every_hit(engine: LocalEngine) -> None:
    recent = engine.find(Query(text="attention yield words since 2016")).hits
    assert recent and all((hit.work.year or 0) >= 2016 for hit in recent)
    by_ruiz = engine.find(Query(text="attention yield words author:ruiz")).hits
    assert {hit.work.authors[0].family for hit in by_ruiz} == {"Ruiz"}
    agrarian = engine.find(Query(text="attention yield words venue:AGR")).hits
    assert {hit.work.venue for hit in agrarian} == {"AGR"}


def test_each_retriever_can_be_switched_off(options: Options) -> None:
    for off, left in (("bm25", "dense"), ("dense", "bm25")):
        retrieval = replace(options.retrieval, citation_context=False, **{off: False})
        engine = LocalEngine.open(replace(options, retrieval=retrieval))
        assert engine.status().retrievers == (left,)
        hit = engine.find(Query(text="attention parsing")).hits[0]
        assert [evidence.retriever for evidence in hit.evidence] == [left]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("boom"), "retriever-failed"),
        (CitewellError(Problem("index-unreadable", "No.", "Build it.")), "index-unreadable"),
    ],
)
def test_a_failing_retriever_is_dropped_and_named(
    options: Options, error: Exception, code: str
) -> None:
    engine = opened_with(Broken(error), 2000, options)
    result = engine.find(Query(text="attention parsing"))
    assert result.hits[0].work.title == "Parsing with Attention"
    assert [problem.code for problem in result.dropped] == [code]
    assert "broken" in result.dropped[0].message or code == "index-unreadable"
    batch = engine.find_batch([Query(text="attention parsing")])
    assert batch[0].hits and [problem.code for problem in batch[0].dropped] == [code]


def test_a_late_retriever_is_dropped_in_time_and_the_others_answer(options: Options) -> None:
    hanging = Hanging()
    engine = opened_with(hanging, 300, options)
    begin = time.monotonic()
    result = engine.find(Query(text="attention parsing"))
    assert time.monotonic() - begin < 5
    assert result.hits and [problem.code for problem in result.dropped] == ["retriever-late"]
    assert "'hanging'" in result.dropped[0].message and "300 ms" in result.dropped[0].message
    hanging.let_go.set()


def test_the_first_search_may_wait_longer_for_its_retrievers(options: Options) -> None:
    hanging = Hanging()
    engine = opened_with(hanging, 200, options, first_seconds=20)
    threading.Timer(0.5, hanging.let_go.set).start()
    assert engine.find(Query(text="attention parsing")).dropped == ()
    hanging.let_go.clear()
    late = engine.find(Query(text="attention parsing")).dropped
    assert [problem.code for problem in late] == ["retriever-late"]
    hanging.let_go.set()


def test_a_retriever_that_hangs_does_not_collect_threads(options: Options) -> None:
    hanging = Hanging()
    engine = opened_with(hanging, 50, options)
    before = threading.active_count()
    for _ in range(12):
        assert engine.find(Query(text="attention")).hits is not None
    assert hanging.searches <= 4
    assert threading.active_count() - before <= 12  # threads are kept for the next request
    hanging.let_go.set()


def test_an_engine_that_is_forgotten_leaves_neither_threads_nor_its_library(
    options: Options,
) -> None:
    """As at each change of a library: the worker opens another engine, and forgets this one."""
    before = set(threading.enumerate())
    engine = LocalEngine.open(options)
    assert engine.find(Query(text="attention")).hits
    begun = [one for one in threading.enumerate() if one.name == "citewell-run"]
    begun = [one for one in begun if one not in before]
    assert begun
    known = weakref.ref(engine)
    del engine
    gc.collect()
    assert known() is None
    for thread in begun:
        thread.join(30)
        assert not thread.is_alive()


def test_a_cancelled_request_raises_at_once(options: Options) -> None:
    hanging = Hanging()
    engine = opened_with(hanging, 20_000, options)
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        engine.find(Query(text="attention"), cancel=cancel)
    assert time.monotonic() - begin < 5
    hanging.let_go.set()


def test_a_passed_deadline_leaves_an_answer_of_what_came(options: Options) -> None:
    hanging = Hanging()
    engine = opened_with(hanging, 20_000, options)
    result = engine.find(Query(text="attention parsing"), cancel=Cancel(seconds=2))
    assert result.hits and result.dropped[0].code == "retriever-late"
    hanging.let_go.set()


class ByYear:
    """A ranker: the newest first, sure of the first."""

    name = "by-year"

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        years = signals.years[candidates.rows].astype(np.float32)
        order = np.argsort(-years, kind="stable")
        return Ordering(order, years[order], np.linspace(0.9, 0.1, len(order), dtype=np.float32))


def test_a_ranker_orders_the_hits_and_gives_confidence(options: Options) -> None:
    hits = LocalEngine.open(options, ranker=ByYear()).find(Query(text="attention words yield")).hits
    years = [hit.work.year for hit in hits]
    assert years == sorted(years, reverse=True)  # type: ignore[type-var]
    assert hits[0].confidence == pytest.approx(0.9)


class Unsteady(ByYear):
    """A ranker that is surer of its second paper than of its first."""

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        found = super().rank(query, candidates, signals, cancel)
        confidence = np.full(len(found.order), 0.5, np.float32)
        confidence[0] = 0.3
        return Ordering(found.order, found.scores, confidence)


def test_no_paper_is_surer_than_one_that_is_offered_before_it(options: Options) -> None:
    hits = LocalEngine.open(options, ranker=Unsteady()).find(Query(text="attention yield")).hits
    assert len(hits) > 1
    assert [hit.confidence for hit in hits] == pytest.approx([0.3] * len(hits))


class BrokenRanker:
    name = "broken-ranker"

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        raise ValueError("no such feature")


def test_a_failing_ranker_leaves_the_order_of_the_fusion(options: Options) -> None:
    query = Query(text="attention words")
    result = LocalEngine.open(options, ranker=BrokenRanker()).find(query)
    plain = LocalEngine.open(options).find(query)
    assert [hit.work.id for hit in result.hits] == [hit.work.id for hit in plain.hits]
    assert [problem.code for problem in result.problems] == ["ranker-failed"]


def test_a_ranker_whose_weights_cannot_be_read_is_named_by_its_own_problem(
    options: Options, tmp_path: Path
) -> None:
    from citewell.ranking.learned import LearnedRanker

    damaged = tmp_path / "ranker.npz"
    damaged.write_bytes(b"no weights")
    result = LocalEngine.open(options, ranker=LearnedRanker(damaged)).find(Query(text="attention"))
    assert [problem.code for problem in result.problems] == ["ranker-weights"]
    assert result.hits


def test_signals_answer_for_any_row(options: Options) -> None:
    seen: dict[str, object] = {}

    class Looks(ByYear):
        def rank(
            self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
        ) -> Ordering:
            rows = np.array([3, 0])
            seen["titles"] = [work.title for work in signals.works(rows)]
            seen["bm25"] = signals.bm25(Query(text="parsing"), rows)
            vectors, query_vectors = signals.vectors(rows), signals.encode([Query(text="parsing")])
            assert vectors is not None and query_vectors is not None
            seen["cosine"] = vectors @ query_vectors[0]
            return super().rank(query, candidates, signals, cancel)

    LocalEngine.open(options, ranker=Looks()).find(Query(text="attention"))
    assert seen["titles"] == ["Parsing with Attention", "Grafting Orchards in Dry Valleys"]
    bm25, cosine = seen["bm25"], seen["cosine"]
    assert isinstance(bm25, np.ndarray) and bm25[0] > 0 and bm25[1] == 0
    assert isinstance(cosine, np.ndarray) and cosine[0] > cosine[1]


def test_a_missing_library_is_a_problem_with_a_cure(options: Options, tmp_path: Path) -> None:
    library = replace(options.library, path=tmp_path)
    engine = LocalEngine.open(replace(options, library=library))
    result = engine.find(Query(text="attention"))
    assert [problem.code for problem in result.problems] == ["library-missing"]
    assert "citewell library add" in result.problems[0].hint
    assert engine.find_batch([Query(text="a")])[0].problems == result.problems
    assert engine.works(["t:1"]) == [None] and engine.lookup(title="x") == []
    assert engine.status().problems == result.problems
    engine.close()


def test_a_damaged_index_costs_its_own_retriever_only(options: Options, tmp_path: Path) -> None:
    import shutil

    assert options.library.path is not None
    shutil.copytree(options.library.path / "small", tmp_path / "small")
    [vectors] = tmp_path.rglob("vectors.npy")
    body = vectors.read_bytes()
    vectors.write_bytes(body[:8] + b"\xff" * 40 + body[48:])  # same size, no header
    library = replace(options.library, path=tmp_path)
    engine = LocalEngine.open(replace(options, library=library))
    result = engine.find(Query(text="attention parsing"))
    assert result.hits and [problem.code for problem in result.dropped] == ["index-unreadable"]
    assert engine.status().problems == result.dropped


def test_another_encoder_than_the_librarys_is_named_with_its_cure(options: Options) -> None:
    retrieval = replace(options.retrieval, encoders=("onnx",))
    engine = LocalEngine.open(replace(options, retrieval=retrieval))
    result = engine.find(Query(text="attention parsing"))
    assert result.hits
    assert [problem.code for problem in result.dropped] == ["encoder-mismatch"]
    assert "citewell library build" in result.dropped[0].hint


def test_many_threads_may_search_at_once(engine: LocalEngine) -> None:
    expected = titles(engine, Query(text="attention parsing"))
    found: list[list[str]] = []

    def search() -> None:
        for _ in range(10):
            found.append(titles(engine, Query(text="attention parsing")))

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60 and all(one == expected for one in found)
