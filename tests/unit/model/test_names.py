"""Names are read as BibTeX reads them, and as people write them."""

from __future__ import annotations

import pytest

from citewell.model import Author
from citewell.model.names import ends_with_others, family_key, parse_author, split_authors


@pytest.mark.parametrize(
    ("name", "family", "given", "suffix"),
    [
        ("Ashish Vaswani", "Vaswani", "Ashish", ""),
        ("Vaswani, Ashish", "Vaswani", "Ashish", ""),
        ("Quoc V. Le", "Le", "Quoc V.", ""),
        ("Jan van der Berg", "van der Berg", "Jan", ""),
        ("van der Berg, Jr., Jan", "van der Berg", "Jan", "Jr."),
        ("Steele Jr., Guy L.", "Steele", "Guy L.", "Jr."),
        ("Martin Luther King Jr.", "King", "Martin Luther", "Jr."),
        ("King, Martin Luther, Jr.", "King", "Martin Luther", "Jr."),
        ("Andrew Senior", "Senior", "Andrew", ""),
        ("Benjamin Van Durme", "Van Durme", "Benjamin", ""),
        ("Hugo Van hamme", "Van hamme", "Hugo", ""),
        ("Thang Van Nguyen", "Nguyen", "Thang Van", ""),
        ("Wei Wang 0001", "Wang", "Wei", ""),
        ("{Google Brain}", "Google Brain", "", ""),
        ("OpenAI", "OpenAI", "", ""),
        ("The ATLAS Collaboration", "The ATLAS Collaboration", "", ""),
        ("Machine Translation Group", "Machine Translation Group", "", ""),
        ("Hinton, G.~E.", "Hinton", "G. E.", ""),
        ("{\\'E}mile Zola", "Zola", "Émile", ""),
        ("Gonz{\\'a}lez, Jos\\'e", "González", "José", ""),
        ("{\\L}ukasz Kaiser", "Kaiser", "Łukasz", ""),
        ("Fran\\c cois Chollet", "Chollet", "François", ""),
        ("Erik F. {Tjong Kim Sang}", "Tjong Kim Sang", "Erik F.", ""),
        ("{van der Maaten}, Laurens", "van der Maaten", "Laurens", ""),
        ("{\\'e}tienne de la Bo{\\'e}tie", "de la Boétie", "étienne", ""),
        ("", "", "", ""),
        (" , ", "", "", ""),
    ],
)
def test_a_name_has_its_parts(name: str, family: str, given: str, suffix: str) -> None:
    assert parse_author(name) == Author(family, given, suffix)


def test_names_are_split_at_and_outside_braces_only() -> None:
    field = "Vaswani, Ashish and {Barnes and Noble} AND\n  Noam Shazeer and others"
    assert [author.display for author in split_authors(field)] == [
        "Ashish Vaswani",
        "Barnes and Noble",
        "Noam Shazeer",
    ]
    assert ends_with_others(field)
    assert not ends_with_others("Ann Brothers")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Aäron van den Oord", "Oord, Aaron"),
        ("Benjamin Van Durme", "Durme, Benjamin Van"),
        ("Łukasz Kaiser", "Kaiser, {\\L}ukasz"),
        ("Jörg Tiedemann", 'Tiedemann, J\\"org'),
        ("Pascale Fung-Lee", "Fung Lee, Pascale"),
        ("Søren Øland", "Oland, Soren"),
    ],
)
def test_surnames_meet_across_sources(one: str, other: str) -> None:
    assert family_key(parse_author(one)) == family_key(parse_author(other)) != ""


def test_names_in_the_extended_form_of_biblatex_are_read() -> None:
    field = (
        "family=Doe, given=Jane and given={Jan}, prefix=van den, useprefix=true, family=Berg"
        " and family=Roe, given=R., suffix=Jr"
    )
    assert split_authors(field) == [
        Author("Doe", "Jane"),
        Author("van den Berg", "Jan"),
        Author("Roe", "R.", "Jr"),
    ]
