"""Names as authors type them, with accents, apostrophes and initials, asked of a real library."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from tests.unit.engine_of_records import engine_of

from citewell.engine.local import LocalEngine
from citewell.model import Query, SearchResult
from citewell.retrieval.structure import as_read

PAPERS = (
    ("Hedges in Winter", "Hedges freeze.", 2019, ("Ida Müller", "Jo Pérez-Rosas")),
    ("Hedges of a Coast", "Hedges and salt.", 2011, ("Kai Schölkopf", "Li Mu")),
    ("Hedges for Sparrows", "Hedges and birds.", 2013, ("Pia Söğüt", "Ian Kovač")),
    ("Walls of Peat", "Peat is dry.", 2016, ("Ann Søgaard", "Yo Goldman")),
    ("Walls of Slate", "Slate is grey.", 2014, ("Ola Mikolajczyk", "Vy Dang")),
    ("Walls of Chalk", "Chalk is white.", 2012, ("Uwe Weiss", "Ulf Straßer")),
    ("PATH: Gates of Iron", "Gates rust.", 2019, ("Jan Hallow", "Bea Marie Stone")),
    (
        "Gates of Wood",
        "Gates rot.",
        2018,
        ("Joe Path", "Max Garcia Lorca", "C. Lena Frost", "Zed Garcia Lopez"),
    ),
    ("Roofs of Reed", "Reed is light.", 2010, ("Brendan O'Connor", "Lia Tull")),
    ("Roofs of Tile", "Tiles are red.", 2012, ("Mia O’Connor", "Rob D'Souza")),
    ("Roofs of Zinc", "Zinc is light.", 2014, ("Sam Connor", "Don Pratt")),
    ("Doors of Ash", "As Østlund and Østlund found.", 2003, ("Eva Ostlund",)),
    ("Doors of Oak", "Doors of Østlund.", 2004, ("Per Berg",)),
    ("Dams of Clay", "Clay is dense.", 2016, ("Wu He", "Yi Hill", "Al Wood")),
    ("Dams of Loam", "Loam is loose.", 2016, ("Al Wood",)),
    *((f"Hill {n} and its Wood", "Hills.", 2017, ("Zoe Tor",)) for n in range(9)),
    *((f"Guard {n} of a Wall", "Guards and hedges.", 2011, ("Zoe Tor",)) for n in range(40)),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    lines = [
        {
            "id": f"t:{number}",
            "title": title,
            "abstract": abstract,
            "year": year,
            "venue": "ACL",
            "authors": list(authors),
            "kind": "inproceedings",
            "citations": 1,
            "source": "test-records",
        }
        for number, (title, abstract, year, authors) in enumerate(PAPERS)
    ]
    engine = engine_of(lines, tmp_path_factory.mktemp("libraries"))
    yield engine
    engine.close()


def find(engine: LocalEngine, text: str, k: int = 20) -> SearchResult:
    return engine.find(Query(text=text), k)


def titles(result: SearchResult) -> list[str]:
    return [hit.work.title for hit in result.hits]


@pytest.mark.parametrize(
    ("text", "author", "part", "title"),
    [
        ("by Müller 2019", "Müller", "by Müller", "Hedges in Winter"),
        ("hedges, Schölkopf", "Schölkopf", "Schölkopf", "Hedges of a Coast"),
        ("Pérez-Rosas 2019", "Pérez-Rosas", "Pérez-Rosas", "Hedges in Winter"),
        ("façade “hedges” by Ida Müller — 2019", "Ida Müller", "by Ida Müller", "Hedges in Winter"),
    ],
)
def test_accents_typed_as_marks_of_their_own_are_read(
    engine: LocalEngine, text: str, author: str, part: str, title: str
) -> None:
    composed = find(engine, text)
    text, part = (unicodedata.normalize("NFD", one) for one in (text, part))
    found = find(engine, text)
    assert titles(found) == titles(composed) and titles(found)[0] == title
    assert found.understood.query == composed.understood.query
    (named,) = (one for one in found.understood.parts if one.kind == "author")
    assert (named.value, text[named.start : named.end]) == (author, part)


@pytest.mark.parametrize(
    ("text", "author", "part"),
    [
        (r"M{\"u}ller 2019", "Müller", r"M{\"u}ller"),
        (r"hedges by Ida M\"uller, 2019", "Ida Müller", r"by Ida M\"uller"),
        (r"Sch\"{o}lkopf hedges", "Schölkopf", r"Sch\"{o}lkopf"),
        (r"Jo P{\'e}rez-Rosas 2019", "Jo Pérez-Rosas", r"Jo P{\'e}rez-Rosas"),
        (r"by Pia S{\"o}{\u g}{\"{u}}t", "Pia Söğüt", r"by Pia S{\"o}{\u g}{\"{u}}t"),
        (r"hedges by Kova\v{c}", "Kovač", r"by Kova\v{c}"),
    ],
)
def test_accents_typed_as_latex_are_read(
    engine: LocalEngine, text: str, author: str, part: str
) -> None:
    found = find(engine, text)
    (named,) = (one for one in found.understood.parts if one.kind == "author")
    assert (named.value, text[named.start : named.end]) == (author, part)
    assert author.rsplit(maxsplit=1)[-1] in {one.family for one in found.hits[0].work.authors}


@pytest.mark.parametrize("text", [r"\cite hedges", r"\beta hedges \alpha", "hedges \\\\", "a\\"])
def test_a_backslash_that_is_no_accent_stays(engine: LocalEngine, text: str) -> None:
    assert not find(engine, text).failed
    assert as_read(text).text == text


@pytest.mark.parametrize(
    ("text", "plain", "part"),
    [
        ("Mikołajczyk", "Mikolajczyk", "Mikołajczyk"),
        ("walls by Mikołajczyk", "walls by Mikolajczyk", "by Mikołajczyk"),
        (r"Miko{\l}ajczyk 2014", "Mikolajczyk 2014", r"Miko{\l}ajczyk"),
        ("Đặng", "Dang", "Đặng"),
        ("Mikołajczyk and Đặng 2014", "Mikolajczyk and Dang 2014", "Mikołajczyk and Đặng"),
        ("Weiß 2012", "Weiss 2012", "Weiß"),
    ],
)
def test_letters_that_no_index_folds_are_names_as_in_their_plain_spelling(
    engine: LocalEngine, text: str, plain: str, part: str
) -> None:
    found, same = find(engine, text), find(engine, plain)
    assert titles(found) == titles(same)
    assert titles(found)[0].startswith("Walls of")
    assert found.understood.query == same.understood.query
    named = found.understood.parts[0]
    assert (named.kind, text[named.start : named.end]) == ("author", part)


@pytest.mark.parametrize(
    ("text", "author", "topic"),
    [
        ("J. Hallow path", "J. Hallow", "path"),
        ("J. Hallow PATH gates 2019", "J. Hallow", "PATH gates"),
        ("by J. Hallow path", "J. Hallow", "path"),
        ("Jan Hallow path", "Jan Hallow", "path"),
        ("B. Marie Stone gates", "B. Marie Stone", "gates"),
        ("B. M. Stone gates", "B. M. Stone", "gates"),
        ("c. lena frost gates", "c. lena frost", "gates"),
        ("M. Garcia Lorca gates", "M. Garcia Lorca", "gates"),
        ("J. Path gates", "J. Path", "gates"),
    ],
)
def test_a_word_between_an_initial_and_a_surname_is_of_the_name(
    engine: LocalEngine, text: str, author: str, topic: str
) -> None:
    query = find(engine, text).understood.query
    assert (query.authors, query.topic) == ((author,), topic)


@pytest.mark.parametrize(
    ("text", "author", "title"),
    [
        ("by O'Connor", "O'Connor", ""),
        ("O’Connor 2010", "O’Connor", "Roofs of Reed"),
        ("o'connor 2012", "o'connor", "Roofs of Tile"),
        ("Brendan O’Connor", "Brendan O’Connor", "Roofs of Reed"),
        ("B. O'Connor roofs", "B. O'Connor", "Roofs of Reed"),
        ("roofs by O’Connor and D'Souza", "O’Connor", "Roofs of Tile"),
        ("O'Connor's papers on roofs", "O'Connor", ""),
        ("Connor 2014", "Connor", "Roofs of Zinc"),
    ],
)
def test_surnames_with_an_apostrophe_are_names(
    engine: LocalEngine, text: str, author: str, title: str
) -> None:
    found = find(engine, text)
    assert found.understood.query.authors[0] == author
    assert titles(found)[0] in ({title} if title else {"Roofs of Reed", "Roofs of Tile"})


@pytest.mark.parametrize("text", ["don't guard", "O'Pratt 2014", "by D'Tull", "l'roofs", "d'or"])
def test_other_words_with_an_apostrophe_are_no_names(engine: LocalEngine, text: str) -> None:
    assert not find(engine, text).understood.query.authors


@pytest.mark.parametrize(
    "text",
    ["he hill wood 2016", "He, Hill, Wood 2016", "He, Hill & Wood (2016)", "wood hill he 2016"],
)
def test_surnames_of_one_paper_before_a_year_are_its_authors(
    engine: LocalEngine, text: str
) -> None:
    found = find(engine, text)
    assert found.hits[0].work.title == "Dams of Clay"
    assert len(found.conditions.authors) == 3


@pytest.mark.parametrize("text", ["hill wood peat 2016", "hill wood tor 2017", "hill wood 2016"])
def test_other_words_before_a_year_are_no_coauthors(engine: LocalEngine, text: str) -> None:
    assert len(find(engine, text).conditions.authors) < 3
