"""A library whose candidates come from a back end answers as it does from its embedded indexes.

The suite runs over a folder of Qdrant Edge, over a server of tests/fakes/qdrant.py, and with
`--qdrant-url qdrant://HOST:PORT` over a real one.
"""

from __future__ import annotations

import multiprocessing
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.corpus.library import Library
from citewell.engine.local import LocalEngine
from citewell.engine.retrievers import open_retrievers
from citewell.model import CitewellError, Query
from citewell.model.cancel import Cancel
from citewell.model.query import CitingPaper, Reference, TypedQuery
from citewell.options import Options
from citewell.retrieval.attributes import AUTHOR, KIND, YEAR, Between
from citewell.retrieval.backend.connection import (
    open_backend,
    open_target,
    restore,
)
from citewell.retrieval.backend.contract import (
    FORMAT,
    AnyOf,
    Backend,
    Batch,
    Condition,
    ScoredPoints,
    State,
    TermWeights,
    backend_error,
    point_numbers,
    server_address,
)
from citewell.retrieval.backend.qdrant import connect
from citewell.retrieval.backend.write import empty_state, write_library
from citewell.retrieval.dense import open_dense
from citewell.retrieval.opening import Opening

pytest.importorskip("qdrant_edge", reason="needs the extra `qdrant`")
pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
CITED_PAPERS = Path(__file__).resolve().parents[1] / "fixtures" / "papers.jsonl"
QUERIES = [
    *(Query(text=text) for text in ("attention in parsing", "weather yield", "Name3 speech")),
    *(Query(sentence=f"We follow the {a} of {b} [CITATION].") for a, b in
      (("orchards", "valleys"), ("translation", "attention"), ("speech", "parsing"))),
]  # fmt: skip
FILTERS: list[dict[str, Any]] = [
    {"year_from": 2010, "year_to": 2015},
    {"year_from": 2018},
    {"year_to": 2003},
    {"year_from": 2025},
    {"author": "Name2"},
    {"author": "A. Name2"},
    {"author": "Anna Name2"},
    {"author": "Bert Name3"},
    {"author": "Berg, Zoe"},
    {"author": "Name1 and van der Berg"},
    {"author": "Nobody"},
    {"author": "!"},
    {"venue": "ACL"},
    {"venue": "NIPS"},
    {"venue": "transactions orchards"},
    {"venue": "Workshop on Weather"},
    {"venue": "ACL 2012"},
    {"venue": "2012"},
    {"venue": "Nowhere"},
    {"kind": "article"},
    {"kind": "thesis"},
    {"kind": "survey"},
    {"kind": "benchmark"},
    {"kind": "unheard"},
    {"language": "German"},
    {"language": "de", "strict_language": True},
    {"language": "??"},
    {"kind": "article", "venue": "ACL", "year_from": 2005, "author": "Name2", "language": "en"},
]
"""Filters that the payload of points can answer."""


def write(options: Options, address: str) -> Any:
    assert options.library.path is not None
    with Library.open(options.library.path / options.library.name) as library:
        dense = open_dense(Opening(library, Options()))
        target = open_target(address, empty_state(library, dense))
        written = write_library(library, dense, target.backend, lambda rows: None)
        target.publish()
        return written


@pytest.fixture(scope="module")
def plain(options: Options) -> Options:
    """The library alone, without encoders beside the static one."""
    library = replace(options.library, starter=False)
    retrieval = replace(options.retrieval, encoders=())
    return replace(options, library=library, retrieval=retrieval)


@pytest.fixture(params=["edge", "fake", "server"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of a back end where nothing has been written."""
    if request.param == "edge":
        yield f"edge:{tmp_path / 'backend'}"
    elif request.param == "fake":
        yield request.getfixturevalue("qdrant_server").address("papers")
    elif url := request.config.getoption("--qdrant-url"):
        yield (given := f"{url.rstrip('/')}/citewell-test-{uuid.uuid4().hex}")
        remove(given)
    else:
        pytest.skip("needs a Qdrant server: give its address as --qdrant-url")


def remove(address: str) -> None:
    """What the tests wrote into a server."""
    server = server_address(address)
    assert server is not None
    client = connect(server, 60)
    for one in client.get_collections().collections:
        if one.name.startswith(server.collection):
            client.delete_collection(one.name)


def over(options: Options, address: str) -> Options:
    # The time that a busy machine may take.
    retrieval = replace(options.retrieval, timeout_ms=600_000)
    return replace(options, library=replace(options.library, url=address), retrieval=retrieval)


def opened(options: Options) -> LocalEngine:
    engine = LocalEngine.open(options)
    engine.load(300)
    return engine


def found(options: Options, queries: list[Query]) -> list[list[str]]:
    engine = opened(options)
    try:
        return [[hit.work.id for hit in engine.find(one, 10).hits] for one in queries]
    finally:
        engine.close()


def problems(options: Options) -> set[str]:
    engine = opened(options)
    try:
        return {problem.code for problem in engine.status().problems}
    finally:
        engine.close()


def nothing_there(address: str) -> str:
    """The code of the problem of a back end that was never wholly written."""
    return "backend-stale" if address.startswith("edge:") else "backend-missing"


def test_the_answers_are_those_of_the_embedded_indexes(plain: Options, address: str) -> None:
    write(plain, address)
    expected, got = found(plain, QUERIES), found(over(plain, address), QUERIES)
    assert all(expected)
    shared = [len(set(a) & set(b)) / len(a) for a, b in zip(expected, got, strict=True)]
    assert np.mean(shared) >= 0.99
    assert not problems(over(plain, address))


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch, address: str) -> list[tuple[str, int]]:
    """What was asked of the back end: method, and number of conditions."""
    kind = type(open_backend(address))
    calls: list[tuple[str, int]] = []
    for name in ("nearest", "weighted"):
        real = getattr(kind, name)

        def counted(
            backend: Backend, query: Any, k: int, where: Any = (), *more: Any,
            name: str = name, real: Any = real,
        ) -> ScoredPoints:  # fmt: skip
            calls.append((name, len(where)))
            found: ScoredPoints = real(backend, query, k, where, *more)
            return found

        monkeypatch.setattr(kind, name, counted)
    return calls


def searched(options: Options, queries: list[Query]) -> list[dict[str, dict[int, float]]]:
    """Of each query the rows that words and meaning find, and their scores."""
    assert options.library.path is not None
    with Library.open(options.library.path / options.library.name) as library:
        retrievers = open_retrievers(library, options).retrievers
        chosen = {name: retrievers[name] for name in ("bm25", "dense")}
        for one in chosen.values():
            getattr(one, "wait", lambda seconds: None)(300)
        found = []
        for query in queries:
            lists = {name: one.search(query, 500, Cancel()) for name, one in chosen.items()}
            assert not [one.problem for one in lists.values() if one.problem is not None]
            found.append(
                {name: dict(zip(one.rows.tolist(), one.scores.tolist(), strict=True))
                 for name, one in lists.items()}
            )  # fmt: skip
        return found


def test_exactly_the_same_papers_pass_a_filter(
    plain: Options, address: str, requests: list[tuple[str, int]]
) -> None:
    write(plain, address)
    queries = [Query(text="study of weather and attention", **one) for one in FILTERS]
    expected, got = searched(plain, queries), searched(over(plain, address), queries)
    for filters, first, second in zip(FILTERS, expected, got, strict=True):
        for name, scores in first.items():
            assert second[name] == pytest.approx(scores, rel=1e-3, abs=1e-4), (filters, name)
    sizes = [len(one["dense"]) for one in expected]
    assert 0 in sizes and len(set(sizes)) > 10  # the filters tell papers apart
    # A filter that no paper can pass is not sent; any other is.
    assert len(requests) == 2 * (len(FILTERS) - 2) and all(count for _, count in requests)


def test_filters_that_no_field_can_answer_are_answered_by_the_embedded_indexes(
    plain: Options, address: str, requests: list[tuple[str, int]]
) -> None:
    write(plain, address)
    queries = [
        Query(text="study of weather", typed_query=TypedQuery(none_of=("speech",))),
        Query(text="study of weather", kind="article", typed_query=TypedQuery(min_citations=1)),
    ]
    assert searched(over(plain, address), queries) == searched(plain, queries)
    assert not requests


def test_a_back_end_of_another_format_is_reported_and_replaced(
    plain: Options, address: str
) -> None:
    first = write(plain, address)
    backend = open_backend(address)
    state = backend.state()
    assert state is not None
    backend.set_state(replace(state, format=FORMAT - 1))
    del backend
    assert problems(over(plain, address)) == {"backend-version"}
    assert found(over(plain, address), QUERIES) == found(plain, QUERIES)
    second = write(plain, address)
    assert (second.works, second.removed, second.points) == (first.works, 0, first.works)
    assert not problems(over(plain, address))


@pytest.fixture
def cited_library(plain: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """A library of papers that others are known to cite, enough for vectors of their own."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import source_at

    folder = tmp_path / "libraries"
    build_library(folder / "small", add=[source_at(str(CITED_PAPERS))],
                  builders=default_builders(plain))  # fmt: skip
    monkeypatch.setattr("citewell.retrieval.backend.write.CITED_FROM", 1)
    return replace(plain, library=replace(plain.library, path=folder))


def cited(options: Options, queries: list[Query], k: int) -> list[dict[int, float]]:
    """Of each query the rows that the retriever of citations finds, best first, and their scores."""
    assert options.library.path is not None
    with Library.open(options.library.path / options.library.name) as library:
        retriever = open_retrievers(library, options).retrievers["citation_context"]
        getattr(retriever, "wait", lambda seconds: None)(300)
        lists = [retriever.search(one, k, Cancel()) for one in queries]
        assert not [one.problem for one in lists if one.problem is not None]
        return [dict(zip(one.rows.tolist(), one.scores.tolist(), strict=True)) for one in lists]


def test_works_that_others_cite_are_proposed_and_blended_as_embedded(
    cited_library: Options, address: str, requests: list[tuple[str, int]]
) -> None:
    write(cited_library, address)
    with_references = CitingPaper(references=(Reference(title="Attention Is All You Need"),))
    queries = [
        Query(text="attention"),
        Query(sentence="We pretrain a language model [CITATION] and fine-tune it."),
        Query(text="graph networks", paper=with_references),
        Query(text="attention", year_from=2018),
        Query(text=""),
    ]
    for k in (3, 50):
        requests.clear()
        expected = cited(cited_library, queries, k)
        found = cited(over(cited_library, address), queries, k)
        assert [list(one) for one in found] == [list(one) for one in expected]
        assert found == [pytest.approx(one, rel=1e-5) for one in expected]
        assert len(expected[0]) == min(k, len(expected[0])) > 2 and not expected[-1]
        # One with a filter is answered by the embedded retriever.
        assert requests == [("nearest", 0)] * 3


def test_filters_hold_in_a_library_below_and_while_the_back_end_is_late(
    plain: Options, cited_library: Options, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(plain, address)
    assert plain.library.path is not None and cited_library.library.path is not None
    queries = [
        Query(text="attention networks", **filters)
        for filters in ({}, {"year_from": 2017}, {"author": "Vaswani"}, {"kind": "article"})
    ]

    def rows(options: Options) -> list[list[set[int]]]:
        """Of each query the rows that words, meaning and citations find."""
        below = Library.open(cited_library.library.path / "small")  # type: ignore[operator]
        with Library.open(plain.library.path / "small", below) as library:  # type: ignore[operator]
            retrievers = open_retrievers(library, options).retrievers
            lists = []
            for query in queries:
                for name in ("bm25", "dense", "citation_context"):
                    getattr(retrievers[name], "wait", lambda seconds: None)(300)
                found = [retrievers[name].search(query, 500, Cancel()) for name in retrievers]
                codes.update(one.problem.code for one in found if one.problem is not None)
                lists.append([set(one.rows.tolist()) for one in found])
            return lists

    codes: set[str] = set()
    expected = rows(plain)
    assert any(row >= 220 for row in expected[1][0]) and expected[2][0] and not codes
    assert rows(over(plain, address)) == expected and not codes

    def late(*args: Any) -> ScoredPoints:
        raise backend_error("backend-late", "It did not answer in time.")

    kind = type(open_backend(address))
    monkeypatch.setattr(kind, "nearest", late)
    monkeypatch.setattr(kind, "weighted", late)
    assert rows(over(plain, address)) == expected and codes == {"backend-late"}


def test_a_library_of_which_more_is_known_is_written_again(
    cited_library: Options, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(cited_library, address)
    assert write(cited_library, address).works == 0
    monkeypatch.setattr("citewell.retrieval.citation_priors.POPULARITY", 0.5)
    monkeypatch.setattr("citewell.retrieval.backend.write.POPULARITY", 0.5)
    assert "backend-version" in problems(over(cited_library, address))
    second = write(cited_library, address)
    assert (second.works, second.points) == (first.works, first.points)
    assert not problems(over(cited_library, address))


def numbers(backend: Backend, *where: Condition) -> list[int]:
    """Rows of the first segment that meet the conditions, by both kinds of vectors."""
    meaning = backend.nearest(np.array([1, 0, 0, 0], np.float32), 50, where)
    words = backend.weighted(
        TermWeights(np.array([7], np.uint32), np.array([1], np.float32)), 50, where
    )
    assert sorted(meaning.points.tolist()) == sorted(words.points.tolist())
    return sorted((words.points - point_numbers("000001-a", np.array([0]))).tolist())


def test_points_that_are_written_again_have_the_new_payload_and_no_other(address: str) -> None:
    backend = _filled(address)
    assert numbers(backend, Between(YEAR, 2005, 2007)) == [5, 6, 7]
    assert numbers(backend, AnyOf(AUTHOR, (3, 4)), AnyOf(KIND, (0,))) == [4]
    assert numbers(backend, AnyOf(AUTHOR, ())) == []
    backend.upsert(_batch(np.arange(5, 7), years=1990))
    assert backend.count() == 20
    assert numbers(backend, Between(YEAR, 2005, 2007)) == [7]
    assert numbers(backend, Between(YEAR, 1, 1995)) == [5, 6]
    backend.delete(point_numbers("000001-a", np.array([5])))
    assert numbers(backend, Between(YEAR, 1, 1995)) == [6]


def test_a_run_that_stopped_is_continued(plain: Options, address: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("citewell.retrieval.backend.write._BATCH", 50)
    kind = type(open_backend(address))
    real, calls = kind.upsert, 0

    def failing(backend: Backend, batch: Batch) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        real(backend, batch)

    monkeypatch.setattr(kind, "upsert", failing)
    with pytest.raises(KeyboardInterrupt):
        write(plain, address)
    assert nothing_there(address) in problems(over(plain, address))
    whole = write(plain, address)
    assert 0 < whole.works < whole.points
    assert found(over(plain, address), QUERIES) == found(plain, QUERIES)


def test_without_the_library_as_it_is_now_the_embedded_indexes_answer(
    plain: Options, address: str
) -> None:
    assert nothing_there(address) in problems(over(plain, address))
    assert found(over(plain, address), QUERIES) == found(plain, QUERIES)
    assert "backend-address" in problems(over(plain, "qdrant:/nowhere"))


def test_a_library_that_was_built_again_is_followed(
    plain: Options, address: str, tmp_path: Path
) -> None:
    import shutil

    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    assert plain.library.path is not None
    folder = tmp_path
    shutil.copytree(plain.library.path / "small", folder / "small")
    own = replace(plain, library=replace(plain.library, path=folder))
    before = write(own, address)
    newer = folder / "newer.jsonl"
    newer.write_text(
        '{"id": "newer:1", "title": "Weather of the valleys, revised", "year": 2020, '
        '"doi": "10.5555/first.9", "authors": ["A. Name1"], "kind": "article", "source": "newer"}\n'
    )
    build_library(
        folder / "small", add=[FileSource(path=str(newer), format="records")],
        builders=default_builders(own),
    )  # fmt: skip
    after = write(own, address)
    assert "backend-stale" not in problems(over(own, address))
    with Library.open(folder / "small") as library:
        assert after.points == len(library) == before.points + 1
    assert found(over(own, address), QUERIES) == found(own, QUERIES)


def _write_until_killed(address: str, ready: Any) -> None:
    backend = _filled(address)  # which keeps the folder open
    ready.send(backend.count())
    signal.pause()


def _batch(rows: Any, years: Any) -> Batch:
    one = TermWeights(np.array([7], np.uint32), np.array([0.5], np.float32))
    vectors = np.tile(np.array([1, 0, 0, 0], np.float32), (len(rows), 1))
    payloads = [
        {YEAR: year, AUTHOR: [row, row + 100], KIND: [row % 4]}
        for row, year in zip(rows.tolist(), np.broadcast_to(years, len(rows)).tolist(), strict=True)
    ]
    numbers = point_numbers("000001-a", rows)
    return Batch(numbers, vectors, [one] * len(rows), payloads)


def _filled(address: str) -> Backend:
    state = State(dim=4, encoder="e", words="w", segments={"000001-a": 20})
    target = open_target(address, state)
    target.backend.set_state(replace(state, segments={}))
    target.backend.upsert(_batch(np.arange(20), years=2000 + np.arange(20)))
    target.backend.set_state(state)
    target.publish()
    return open_backend(address)


@pytest.fixture
def child() -> Iterator[Any]:
    yield multiprocessing.get_context("spawn")


def test_what_was_written_survives_a_kill_and_another_process_is_told_of_the_lock(
    address: str, child: Any
) -> None:
    here, there = child.Pipe()
    process = child.Process(target=_write_until_killed, args=(address, there))
    process.start()
    there.close()  # so that the end of a child that failed is noticed at once
    try:
        assert here.poll(300) and here.recv()
        if address.startswith("edge:"):
            with pytest.raises(CitewellError) as locked:
                open_backend(address)
            assert locked.value.problem.code == "backend-locked"
    finally:
        process.kill()
        process.join()
    backend = open_backend(address)
    state = backend.state()
    assert state is not None and state.segments == {"000001-a": 20}
    assert backend.count() == 20
    assert numbers(backend) == list(range(20))
    assert numbers(backend, Between(YEAR, 2005, 2007), AnyOf(AUTHOR, (105,))) == [5]


def test_deleted_points_are_not_found_and_a_copy_answers_alike(
    address: str, tmp_path: Path
) -> None:
    backend = _filled(address)
    backend.delete(point_numbers("000001-a", np.arange(5)))
    term = TermWeights(np.array([7], np.uint32), np.array([2.0], np.float32))
    hits = backend.weighted(term, 50)
    assert sorted(hits.points.tolist()) == point_numbers("000001-a", np.arange(5, 20)).tolist()
    np.testing.assert_allclose(hits.scores, 1.0, rtol=1e-6)
    snapshot = backend.snapshot(tmp_path / "copies")
    copied = restore(f"{address}-2", snapshot)
    assert copied.count() == 15
    assert open_backend(f"{address}-2").state() == backend.state()
    with pytest.raises(CitewellError) as wrong:
        backend.nearest(np.ones(3, np.float32), 5)
    assert wrong.value.problem.code == "backend-dimension"


def test_rows_that_are_left_out_later_are_removed(plain: Options, address: str) -> None:
    assert plain.library.path is not None
    with Library.open(plain.library.path / "small") as library:
        dense = open_dense(Opening(library, Options()))
        backend = open_target(address, empty_state(library, dense)).backend
        first = write_library(library, dense, backend, lambda rows: None)
        use, view = library.manifest.segments[-1], library.own_segments[-1]
        dead = np.zeros(use.count, np.bool_) if view.dead is None else view.dead.copy()
        gone = np.flatnonzero(~dead)[:3]
        dead[gone] = True
        changed = replace(use, dead=int(dead.sum()), dead_hash="changed")
        segments = (*library.manifest.segments[:-1], changed)
        library.manifest = replace(library.manifest, segments=segments)
        library.segments = (*library.segments[:-1], replace(view, dead=dead))
        second = write_library(library, dense, backend, lambda rows: None)
    assert (second.works, second.points) == (0, first.points - 3)
