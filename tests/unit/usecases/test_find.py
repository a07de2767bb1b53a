"""The places of a passage, and how its text is told apart."""

import pytest

from citewell.model import Hit, Query, Work
from citewell.options import Options
from citewell.usecases.find import (
    MAX_PLACES,
    in_sentence,
    is_named_whole,
    passage_queries,
    suffix_of,
)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("Words \\cite<of somebody>.", ".tex"),
        ("Words [CITATION].", ".md"),
        ("With $\\alpha$ [@?words].", ".md"),
        ("---\ntitle: T\n---\n$\\alpha$ [CITATION]", ".md"),
        ("", ".md"),
    ],
)
def test_a_formula_does_not_make_latex_of_markdown(text: str, suffix: str) -> None:
    assert suffix_of(text) == suffix


def test_each_placeholder_is_a_place_and_the_end_is_one_where_there_is_none() -> None:
    two = passage_queries("One [CITATION]. Two \\cite<words>.", ".tex", Options())
    assert [query.text for query in two] == ["", "words"]
    (one,) = passage_queries("Nothing is marked here.", ".md", Options())
    assert one.sentence == "Nothing is marked here [CITATION]."
    many = passage_queries("A [CITATION]. " * (MAX_PLACES + 5), ".md", Options())
    assert len(many) == MAX_PLACES


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("We tune RoBERTa [CITATION].", "", "We tune RoBERTa [CITATION]."),
        ("We tune RoBERTa (CITE) today.", "", "We tune RoBERTa [CITATION] today."),
        ("We tune RoBERTa [?].", "", "We tune RoBERTa [CITATION]."),
        ("We tune it <citation needed>.", "", "We tune it [CITATION]."),
        ("We tune \\cite<roberta>.", "roberta", "We tune [CITATION]."),
        ("\\cite<roberta>", "roberta", ""),
        ("[CITATION]", "[CITATION]", ""),
        ("citation analysis", "citation analysis", ""),
        ("\\cite<citation analysis>", "citation analysis", ""),
    ],
)
def test_a_search_for_a_passage_with_a_placeholder_asks_for_its_place(
    text: str, words: str, sentence: str
) -> None:
    found = in_sentence(Query(text=text, author="Liu"), Options())
    assert (found.text, found.sentence, found.author) == (words, sentence, "Liu")


@pytest.mark.parametrize(
    ("text", "titles", "expected"),
    [
        ("attention is all you need", ["Attention Is All You Need", "Attention"], True),
        ("10.5555/sit.7", ["Attention Is All You Need"], True),
        ("attention is all", ["Attention Is All You Need"], False),
        ("Attention is all you need", ["Attention", "Attention Is All You Need"], False),
        ("Attention is all you need", ["Attention Is All You Need"] * 2, False),
        ("Attention", ["Attention"], False),
        ("", ["Attention Is All You Need"], False),
    ],
)
def test_a_whole_title_or_an_identifier_is_certain(
    text: str, titles: list[str], expected: bool
) -> None:
    hits = [Hit(Work(id=f"x:{n}", title=title), 1.0) for n, title in enumerate(titles)]
    assert is_named_whole(Query(text=text), hits) is expected
