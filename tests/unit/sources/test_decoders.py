"""What each source's answers become: the records of tests/fakes/sources.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citewell.model import Author, Work
from citewell.model.identifiers import isbn13
from citewell.sources.adapters import europe_pmc, inspire, open_library, zbmath

RECORDS = json.loads(
    (Path(__file__).parents[2] / "fakes" / "sources.json").read_text(encoding="utf-8")
)
DAY = "2026-01-01"


def made(work: Work | str) -> Work:
    assert isinstance(work, Work), work
    return work


def test_a_retracted_article_names_its_notice_and_its_group_of_authors() -> None:
    work = made(europe_pmc.work_of_record(RECORDS["europe-pmc"][1], DAY))
    assert work.retracted and work.notice == "https://europepmc.org/article/MED/12399"
    assert work.authors == (Author("Example", "Ada"), Author("Kettle Study Group"))
    assert (work.kind, work.journal, work.volume) == ("article", "Journal of Kitchen Medicine", "3")


def test_a_paper_of_thousands_is_one_of_its_collaboration() -> None:
    work = made(inspire.work_of_record(RECORDS["inspire"][1], DAY))
    assert work.authors == (Author("KETTLE Collaboration"),) and work.others
    assert (work.journal, work.pages, work.year) == ("Phys.Lett.B", "1-29", 2012)
    assert work.bibkey == "Kettle:2012abc"


def test_a_preprint_of_a_few_names_them_all_and_no_journal() -> None:
    work = made(inspire.work_of_record(RECORDS["inspire"][0], DAY))
    assert len(work.authors) == 8 and not work.others
    assert (work.kind, work.arxiv, work.year) == ("misc", "1706.03762", 2017)


def test_a_book_of_mathematics_has_its_subtitle_and_publisher() -> None:
    work = made(zbmath.work_of_record(RECORDS["zbmath"][1], DAY))
    assert work.title == "Kettles and manifolds: An introduction"
    assert (work.kind, work.publisher, work.year) == ("book", "Kettle Press", 1999)
    article = made(zbmath.work_of_record(RECORDS["zbmath"][0], DAY))
    assert (article.doi, article.journal) == ("10.1000/kettles.cohomology", "Annals of Kettles")


def test_a_book_of_several_publishers_names_none() -> None:
    work = made(open_library.work_of_book(RECORDS["open-library"][1], DAY))
    assert work.title == "The Patience of Kettles: A natural history" and not work.publisher
    assert made(open_library.work_of_book(RECORDS["open-library"][0], DAY)).publisher == "Wiley"


@pytest.mark.parametrize(
    "make", [europe_pmc.work_of_record, inspire.work_of_record, zbmath.work_of_record,
             open_library.work_of_book, open_library.work_of_edition],
)  # fmt: skip
@pytest.mark.parametrize("record", [{}, {"title": 3, "authors": "x", "metadata": [], "source": 1}])
def test_a_record_of_another_shape_is_no_work(make: Any, record: dict[str, Any]) -> None:
    assert isinstance(make(record, DAY), str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-471-06259-6", "9780471062592"),
        ("ISBN 978-0-471-06259-2 (hardback)", "9780471062592"),
        ("080442957X", "9780804429573"),
        ("978-0-471-06259-3", ""),
        ("10.1000/0471062596", ""),
        ("1234567890123456", ""),
    ],
)
def test_an_isbn_has_thirteen_digits_of_which_the_last_is_right(text: str, expected: str) -> None:
    assert isbn13(text) == expected
