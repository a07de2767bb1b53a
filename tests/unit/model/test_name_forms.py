"""A filter by author takes a name in every form in which people write it."""

import pytest

from citewell.model import Author, Work
from citewell.model.names import parse_author
from citewell.retrieval.attributes import authors_named, meets


def is_by(text: str, authors: list[Author]) -> bool:
    return meets(Work(id="w:1", title="", authors=tuple(authors)), authors_named(text))


@pytest.mark.parametrize(
    ("record", "queries"),
    [
        ("LeCun, Yann", ["Yann LeCun", "LeCun, Yann", "Y. LeCun", "LeCun", "LeCun Y", "Le Cun"]),
        ("Le Cun, Y.", ["Yann LeCun", "LeCun", "Cun", "Y. Le Cun"]),
        ("van den Oord, Aäron", ["Aaron van den Oord", "van den Oord", "Oord", "A. Oord"]),
        ("García Márquez, Gabriel", ["Gabriel Garcia Marquez", "Garcia, G.", "Marquez"]),
        ("Wang, Wei", ["Wei Wang", "Wang Wei", "W. Wang"]),
        ("Grünwald, Peter", ["Gruenwald", "Peter Grunwald"]),
        ("Chang, Kai-Wei", ["Kaiwei Chang", "K.-W. Chang", "Kai-Wei Chang"]),
        ("Manning, Christopher D.", ["Christopher Manning", "C. D. Manning", "Christopher D. Manning"]),
        ("Smith, J. David", ["David Smith", "J. Smith"]),
        ("Jones, Jr., Ann", ["Ann Jones", "Ann Jones Jr."]),
        ("OpenAI", ["OpenAI"]),
        ("{NLLB Team}", ["NLLB Team", "NLLB"]),
    ],
)  # fmt: skip
def test_every_form_of_a_name_finds_it(record: str, queries: list[str]) -> None:
    author = parse_author(record)
    assert [text for text in queries if not is_by(text, [author])] == []


@pytest.mark.parametrize(
    ("record", "queries"),
    [
        ("LeCun, Yann", ["Jan LeCun", "Yoshua LeCun", "X. LeCun", "Yann", "", ",", "and"]),
        ("Wang, Wei", ["Weiwei Wang", "Wei Li", "Wei"]),
        ("Cho, M.", ["K. Cho", "Kyunghyun Cho"]),
        ("van den Oord, Aäron", ["van", "den"]),
    ],
)
def test_another_person_is_not_found(record: str, queries: list[str]) -> None:
    author = parse_author(record)
    assert [text for text in queries if is_by(text, [author])] == []


def test_several_people_must_all_be_among_the_authors() -> None:
    authors = [parse_author("Yann LeCun"), parse_author("Yoshua Bengio")]
    assert is_by("LeCun and Yoshua Bengio", authors)
    assert is_by("Y. LeCun; Bengio, Y.", authors)
    assert not is_by("LeCun & Hinton", authors)
