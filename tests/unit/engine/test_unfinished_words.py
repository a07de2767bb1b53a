"""The last word of a query that an author is still typing, over a real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.engine_of_records import engine_of

from citewell.engine import query_preprocessor
from citewell.engine.local import LocalEngine
from citewell.model import Query

PAPERS = (
    ("Neural Machine Translation by Jointly Learning to Align and Translate", 2015, "Bahdanau"),
    ("Grammar Induction of Valleys", 2014, "Bah"),
    ("Effective Approaches to Attention", 2015, "Luong"),
    ("Attention from 2010 to 2015 in Review", 2016, "Haddad"),
)


def records():
    others = [(f"Machine Translation of Field {n}", 2000 + n % 20, f"Name{n}") for n in range(40)]
    for number, (title, year, family) in enumerate((*PAPERS, *others)):
        yield {
            "id": f"t:{number}",
            "title": title,
            "year": year,
            "authors": [f"A. {family}"],
            "kind": "article",
            "source": "test-records",
        }


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    engine = engine_of(records(), tmp_path_factory.mktemp("library"))
    yield engine
    engine.close()


def titles(engine: LocalEngine, text: str, **more: object) -> list[str]:
    return [hit.work.title for hit in engine.find(Query(text=text, **more), 5).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("typed", ["bahd", "bahdana", "Bahd", "neural translation bahd"])
def test_half_a_surname_finds_its_papers_while_it_is_typed(engine: LocalEngine, typed: str) -> None:
    assert titles(engine, typed, unfinished=True)[0] == PAPERS[0][0]


def test_a_word_that_is_typed_to_its_end_is_none_other(engine: LocalEngine) -> None:
    assert titles(engine, "bahd") == []
    assert titles(engine, "bah", unfinished=True)[0] == PAPERS[1][0]
    assert titles(engine, "luong", unfinished=True) == titles(engine, "luong")


@pytest.mark.parametrize("key", ["bahdanau2015", "bahdanau15", "bahdanau2015neural", "Bahdanau15a"])
def test_a_key_finds_the_paper_that_it_would_stand_for(engine: LocalEngine, key: str) -> None:
    found = engine.find(Query(text=key), 5)
    assert found.hits[0].work.title == PAPERS[0][0]
    (author,) = [part for part in found.understood.parts if part.kind == "author"]
    assert (author.start, author.end) == (0, len(key))


def test_what_was_understood_stands_at_what_was_typed(engine: LocalEngine) -> None:
    found = engine.find(Query(text="attention 2015 bahd", unfinished=True), 5)
    parts = {
        part.kind: "attention 2015 bahd"[part.start : part.end] for part in found.understood.parts
    }
    assert parts["author"] == "bahd"
    assert parts["year"] == "2015"


def test_a_large_library_answers_while_its_words_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search is not delayed; a batch waits for the words."""
    monkeypatch.setattr(query_preprocessor, "KEPT_FROM", 10)
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    query = Query(text="bahd", unfinished=True)
    for number in range(2):  # the second engine finds the table in the cache
        folder = tmp_path / f"library-{number}"
        folder.mkdir()
        engine = engine_of(records(), folder)
        try:
            engine.find(query, 5)
            (found,) = engine.find_batch([query], 5)
            assert found.hits[0].work.title == PAPERS[0][0]
            assert engine.find(query, 5).hits[0].work.title == PAPERS[0][0]
        finally:
            engine.close()
    assert len(list((tmp_path / "cache" / "arrays").glob("words-1-*"))) >= 1
