"""The places of a passage, and how its text is told apart."""

import pytest

from citewell.options import Options
from citewell.usecases.find import MAX_PLACES, passage_queries, suffix_of


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
