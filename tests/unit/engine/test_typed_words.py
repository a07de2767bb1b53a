"""Words that an author types, asked of a real library with the shipped ranker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.engine_of_records import engine_of

from citewell.engine.local import LocalEngine
from citewell.model import Query

WHAT = "What Does a Parser Look at?"
TITLES = (
    (WHAT, "An analysis of parsers.", 2019, "Ruiz"),
    ("ORCH: Attention over Orchards", "Attention of farmers is measured.", 2021, "Brandt"),
    ("Attention from 2010 to 2015 in Review", "What happened.", 2016, "Haddad"),
    ("Parsing Valleys", "A parser of valleys that Brandt made.", 2015, "Okafor"),
)
SENTENCE = "Parsers look at words [CITATION]."


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    others = tuple(
        (f"Attention in Field {n} of Translation", "We translate.", 2000 + n % 20, f"Name{n}")
        for n in range(40)
    )
    lines = [
        {
            "id": f"t:{number}",
            "title": title,
            "abstract": abstract,
            "year": year,
            "authors": [f"A. {family}"],
            "kind": "inproceedings",
            "source": "test-records",
        }
        for number, (title, abstract, year, family) in enumerate((*TITLES, *others))
    ]
    engine = engine_of(lines, tmp_path_factory.mktemp("libraries"))
    yield engine
    engine.close()


def first(engine: LocalEngine, text: str, sentence: str = "") -> str:
    query = Query(text=text, sentence=sentence)
    single = engine.find(query, 5).hits
    batch = engine.find_batch([query, Query(sentence="Other words [CITATION].")], 5)[0].hits
    assert [hit.work.id for hit in single] == [hit.work.id for hit in batch]
    return single[0].work.title


@pytest.mark.parametrize("sentence", ["", SENTENCE])
@pytest.mark.parametrize("title", [title for title, *_ in TITLES])
def test_a_whole_title_comes_first_though_it_reads_like_a_question_or_a_filter(
    engine: LocalEngine, title: str, sentence: str
) -> None:
    assert first(engine, title, sentence) == title


@pytest.mark.parametrize("text", ["brandt", "brandt 2021", "ORCH", "orch brandt"])
def test_a_name_finds_its_paper_before_those_that_mention_it(
    engine: LocalEngine, text: str
) -> None:
    assert first(engine, text) == "ORCH: Attention over Orchards"


def test_a_typing_error_finds_the_paper_all_the_same(engine: LocalEngine) -> None:
    assert first(engine, "atention over orchards") == "ORCH: Attention over Orchards"


def test_filters_in_typed_words_hold(engine: LocalEngine) -> None:
    hits = engine.find(Query(text="attention translation since 2015"), 10).hits
    assert hits and all((hit.work.year or 0) >= 2015 for hit in hits)


def test_words_that_were_read_out_of_a_key_name_no_paper(engine: LocalEngine) -> None:
    query = Query(text="brandt orch", sentence=SENTENCE, guessed=True)
    result = engine.find(query, 5)
    assert "exact_match" not in result.timings
    assert result.hits == engine.find_batch([query, Query(text="orch")], 5)[0].hits
    assert result.hits[0].confidence != engine.find(Query(text="brandt orch"), 5).hits[0].confidence
