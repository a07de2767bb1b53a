from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model import CitingPaper, Query
from citewell.retrieval.structure import read_query, structured, with_conditions


@pytest.mark.parametrize(
    ("text", "words", "years"),
    [
        ("attention since 2019", "attention", (2019, None)),
        ("attention from 2019 to 2021", "attention", (2019, 2021)),
        ("between 2015 and 2018 parsing", "parsing", (2015, 2018)),
        ("parsing 2015-2018", "parsing", (2015, 2018)),
        ("parsing 2018–2015", "parsing", (2015, 2018)),
        ("parsing 2018 onwards", "parsing", (2018, None)),
        ("parsing after 2018", "parsing", (2019, None)),
        ("parsing until 2010", "parsing", (None, 2010)),
        ("parsing before 2010", "parsing", (None, 2009)),
        ("parsing 2010 or earlier", "parsing", (None, 2010)),
        ("parsing in the last 5 years", "parsing", (2019, None)),
        ("parsing year:2012", "parsing", (2012, 2012)),
        ("parsing year:2012-", "parsing", (2012, None)),
        ("parsing year:2012-2014", "parsing", (2012, 2014)),
        ("parsing year:-2014", "parsing", (None, 2014)),
    ],
)
def test_the_year_grammar(text: str, words: str, years: tuple[int | None, int | None]) -> None:
    read = structured(Query(text=text), now=2024)
    assert (read.text, (read.year_from, read.year_to)) == (words, years)


@pytest.mark.parametrize(
    "text",
    [
        "vaswani 2017",
        "GPT-3",
        "word2vec",
        "a 2048-unit network",
        "recent advances",
        "5 years of it",
    ],
)
def test_a_bare_year_and_other_numbers_are_no_filters(text: str) -> None:
    assert structured(Query(text=text)) == Query(text=text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Can you list some papers about graph attention?", "Can you about graph attention?"),
        ("Which studies discuss dropout", "Which dropout"),
        ("work on research literature", "work on research literature"),
        ("Any papers?", "Any papers?"),
    ],
)
def test_a_question_is_searched_by_its_topic(text: str, words: str) -> None:
    assert structured(Query(text=text)).text == words


def test_the_last_years_count_from_the_citing_paper() -> None:
    query = Query(text="parsing last 3 years", paper=CitingPaper(year=2015))
    assert structured(query).year_from == 2012


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    structured(Query(text=text))


def test_a_year_in_a_placeholder_allows_for_the_years_beside_it() -> None:
    def years(sentence: str) -> tuple[int | None, int | None]:
        query = Query(text='"graph attention" 2018', sentence=sentence)
        read, _ = with_conditions(query, read_query(query.text, now=2024))
        return read.typed_query.year_from, read.typed_query.year_to

    assert years("It is a graph [CITATION].") == (2017, 2019)
    assert years("") == (2018, 2018)
