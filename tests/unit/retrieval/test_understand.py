from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.model import CitingPaper, Query
from citewell.retrieval.understand import plain, title_name, wanted


def test_an_empty_query_wants_nothing() -> None:
    sought = wanted(Query())
    assert not (sought.words or sought.names or sought.acronyms or sought.years)


def test_typed_words_weigh_most() -> None:
    query = Query(
        text="orchards",
        sentence="Yield grows [CITATION].",
        before=("Weather matters.",),
        paper=CitingPaper(title="Deep networks"),
    )
    words = wanted(query).words
    assert max(words, key=words.__getitem__) == "orchards"
    assert words["grows"] > words["weather"]


def test_weight_falls_with_the_distance_from_the_mark() -> None:
    words = wanted(Query(sentence="alpha beta gamma delta [CITATION] omega")).words
    assert words["alpha"] < words["beta"] < words["gamma"] < words["delta"]
    assert words["omega"] < words["delta"]


def test_other_citations_and_the_mark_are_no_words() -> None:
    words = wanted(Query(sentence="Both [OTHER] and [CITATION] agree.")).words
    assert set(words) == {"agree"}


def test_names_are_read_from_citing_phrases_only() -> None:
    assert set(wanted(Query(sentence="Following Ruiz et al., we [CITATION]")).names) == {"ruiz"}
    assert set(wanted(Query(sentence="Brandt and Long (2015) and [CITATION]")).names) == {
        "brandt",
        "long",
    }
    assert not wanted(Query(sentence="Long sentences are parsed [CITATION]")).names


def test_years_are_found_and_other_numbers_are_not() -> None:
    assert set(
        wanted(Query(sentence="Since 2017 with 2048 units and 1.2015 [CITATION]")).years
    ) == {2017}


def test_acronyms_near_the_mark_are_title_names() -> None:
    acronyms = wanted(Query(sentence="We fine-tune RoBERTa [CITATION] on it")).acronyms
    assert "roberta" in acronyms
    assert "we" not in acronyms


def test_a_title_opens_with_a_name_before_its_colon() -> None:
    assert title_name("ORCH: A benchmark of orchard yield") == "orch"
    assert title_name("No colon here") == ""
    assert title_name("A very long clause that is no name at all: and more") == ""
    assert title_name("Name:") == ""


def test_plain_text_has_no_marks_and_single_blanks() -> None:
    assert plain("a [OTHER]\n b [CITATION] c") == "a b c"


@given(st.builds(Query, text=st.text(), sentence=st.text(), section=st.text()))
def test_no_query_breaks_the_reading(query: Query) -> None:
    sought = wanted(query)
    assert all(value > 0 for value in sought.words.values())
