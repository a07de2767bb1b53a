"""Encoders beside the static one: each is a retriever of its own, and takes nothing from others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.fakes.hashed_words import NAME, HashedWords

from citewell.corpus.library import Library
from citewell.engine.local import LocalEngine
from citewell.features.text.evidence import why
from citewell.model import CitewellError, Problem, Query
from citewell.options import Options
from citewell.retrieval import registry
from citewell.retrieval.encoders import registry as encoders
from citewell.retrieval.encoders.registry import further_name
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at
from citewell_lab.evaluation import methods

ROW = further_name(NAME)
OTHER = "test/other-words"
TITLES = (
    "Grafting apple trees in dry valleys",
    "Attention in neural machine translation",
    "Statistical parsing of newspaper text",
    "Speech recognition from raw waves",
)
FRUIT = Query(text="fruit")
"""A word that no title has, and that this encoder takes for "apple"."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (NAME, OTHER):
        monkeypatch.setitem(encoders.ENCODERS, name, HashedWords)


@pytest.fixture
def static(tmp_path: Path) -> Options:
    """Settings of a library with the vectors of the static encoder only."""
    records = tmp_path / "records.jsonl"
    records.write_text(
        "".join(
            f'{{"id": "t:{number}", "title": "{title}", "year": 2010, "authors": ["A. Ruiz"], '
            '"kind": "article", "source": "test-records"}\n'
            for number, title in enumerate(TITLES)
        ),
        encoding="utf-8",
    )
    base = Options()
    options = replace(base, library=replace(base.library, path=tmp_path / "libraries"))
    build(options, add=[source_at(str(records))])
    return options


@pytest.fixture
def both(static: Options) -> Options:
    """The same with an encoder beside it."""
    options = change(static, encoders=(NAME,))
    build(options)
    return options


def change(options: Options, **retrieval: Any) -> Options:
    return replace(options, retrieval=replace(options.retrieval, **retrieval))


def folder(options: Options) -> Path:
    assert options.library.path is not None
    return options.library.path / "default"


def build(options: Options, **given: Any) -> None:
    build_library(folder(options), builders=default_builders(options), **given)


def opened(options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(options)
    engine.load(60)
    yield engine
    engine.close()


def proofs(engine: LocalEngine) -> set[str]:
    """The retrievers that found the first paper."""
    return {one.retriever for one in engine.find(FRUIT).hits[0].evidence}


@pytest.fixture
def engine(both: Options) -> Iterator[LocalEngine]:
    yield from opened(both)


def test_it_finds_papers_of_its_own_and_the_ranker_orders_them(engine: LocalEngine) -> None:
    status = engine.status()
    assert status.retrievers == ("bm25", "dense", ROW, "citation_context")
    assert status.encoder == f"citation, {NAME}" and not status.problems
    result = engine.find(FRUIT)
    assert not result.dropped and result.variant == "learned"
    proofs = {one.retriever: one for one in result.hits[0].evidence}
    assert result.hits[0].work.title == TITLES[0]
    assert proofs[ROW].rank == 1 and "learned" in proofs and "bm25" not in proofs
    assert f"{ROW} #1" in why(result.hits[0])


def test_a_library_without_its_vectors_names_the_command_and_is_searched(static: Options) -> None:
    for engine in opened(change(static, encoders=(NAME,))):
        (problem,) = engine.status().problems
        assert problem.code == "encoder-mismatch"
        assert NAME in problem.message and "`citewell library build`" in problem.hint
        result = engine.find(Query(text="speech recognition"))
        assert result.hits[0].work.title == TITLES[3] and result.variant == "learned"
        assert problem in result.dropped


def test_its_vectors_are_added_to_a_library_and_the_others_stay(both: Options) -> None:
    with Library.open(folder(both)) as library:
        assert {"bm25", "dense", ROW} <= set(library.manifest.indexes)
        vectors = [view.index(ROW) / "vectors.npy" for view in library.segments]
        assert all(path.is_file() for path in vectors)
    before = HashedWords.read
    build(both)
    assert HashedWords.read == before, "nothing is encoded twice"


def test_one_that_cannot_be_loaded_costs_itself_alone(
    both: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem("encoder-missing", "Not installed.", "Install it.")

    def missing(name: str) -> HashedWords:
        raise CitewellError(problem)

    monkeypatch.setitem(encoders.ENCODERS, NAME, missing)
    for engine in opened(both):
        assert engine.status().problems == (problem,)
        result = engine.find(Query(text="speech recognition"))
        assert result.hits[0].work.title == TITLES[3] and result.variant == "learned"
        assert result.dropped == (problem,)


def test_another_version_of_it_is_not_searched(
    both: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(encoders.ENCODERS, NAME, lambda name: HashedWords(name, "2"))
    for engine in opened(both):
        assert [problem.code for problem in engine.status().problems] == ["encoder-mismatch"]
        assert ROW not in proofs(engine)


def test_an_evaluation_leaves_it_out_or_asks_it_alone(both: Options) -> None:
    for name in (ROW, NAME):
        assert methods.without(name, both).options(both).retrieval.further_encoders == ()
        (alone,) = methods.named([name], both)
        assert [row.name for row in registry.rows(alone.options(both)) if on(row, alone, both)] == [
            ROW
        ]
    (dense,) = methods.named(["dense"], both)
    assert dense.options(both).retrieval.further_encoders == ()
    assert ROW in [method.name for method in methods.mode("single", both)]
    assert methods.without("dense", both).options(both).retrieval.further_encoders == (NAME,)


def on(row: registry.RetrieverSpec, method: methods.SearchMethod, base: Options) -> bool:
    """Whether a retriever that has a switch is on."""
    return bool(row.option or row.encoder) and row.is_on(method.options(base))


@pytest.mark.parametrize("path", ["/models/e5 small", "C:\\models\\e5 small", "./e5 small", "~/e5"])
def test_folders_of_models_have_names_of_files(path: str) -> None:
    name = further_name(path)
    assert name.startswith("dense-e5") and name.replace("-", "").isalnum()
    assert name != further_name(f"{path}2") and name == further_name(path)
