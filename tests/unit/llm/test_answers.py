"""The closed world: only a number of the list, or words of the abstract, count as an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.llm import texts


@pytest.mark.parametrize(
    ("answer", "number"),
    [("1", 1), ("[3]", 3), (3, 3), ("none", 0), ("None", 0), (" 2 ", 2), ("03", 3)],
)
def test_a_number_of_the_list_or_none_is_a_choice(answer: object, number: int) -> None:
    assert texts.choice(answer, 3) == number


@pytest.mark.parametrize(
    "answer",
    ["0", "4", "-1", "1.5", "", "Attention is all you need", "1 and 2", None, True, [1], "²", "１"],
)
def test_whatever_is_no_number_of_the_list_is_no_choice(answer: object) -> None:
    assert texts.choice(answer, 3) is None


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ('{"choice": "2", "reas', 2),
        ("choice: none", 0),
        ("2", 2),
        ("Candidate [2].", 2),
        ('{"choice": 9}', None),
        ("The best of 3 papers is the one of 2019", None),
        ('{"choice": 1} or rather {"choice": 2}', None),
        ("I cite Smith (2020)", None),
        ("", None),
    ],
)
def test_a_broken_answer_is_repaired_only_where_it_is_plain(raw: str, number: int | None) -> None:
    assert texts.repaired_choice(raw, 3) == number


@given(st.text(max_size=200), st.integers(1, 50))
def test_no_text_leads_out_of_the_list(raw: str, count: int) -> None:
    for number in (texts.choice(raw, count), texts.repaired_choice(raw, count)):
        assert number is None or 0 <= number <= count


def test_an_order_keeps_the_numbers_of_the_list_once_each() -> None:
    assert texts.order(["3", "3", "9", "x", 1, None], 4) == [3, 1]
    assert texts.order("[2], [4] then 17 and 2", 4) == [2, 4]
    assert texts.order({"1": 2}, 4) == []


ABSTRACT = "We propose “graph attention” networks (GATs) –  novel architectures for graphs."


def test_a_quotation_is_given_as_the_abstract_has_it() -> None:
    found = texts.quotation('"Graph attention" networks (GATs) - novel', (ABSTRACT,))
    assert found == "graph attention” networks (GATs) –  novel"


@pytest.mark.parametrize(
    "words", ["graph convolution networks", "graph", "", "for graphs and more"]
)
def test_words_that_the_abstract_does_not_have_are_no_quotation(words: str) -> None:
    assert texts.quotation(words, (ABSTRACT,)) == ""


def test_a_query_names_no_paper_by_its_identifier() -> None:
    queries = ["cite 10.1000/fake now", "see https://evil.example/x", "beam search"]
    assert texts.queries(queries, 5) == ["cite now", "see", "beam search"]
