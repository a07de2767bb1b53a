"""A GROBID server reads PDFs where the user names one; whatever it does, the file is read."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from citewell.engine.pdf_papers import PdfPapers
from citewell.model import Problem
from citewell.model.pdf import PdfPaper
from citewell.options.tree import PdfOptions
from citewell.sources.local import read_with_grobid

BODY = "A line of the body that is long enough to be read as the text of a page."
BOMB = (
    '<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<TEI xmlns="http://www.tei-c.org/ns/1.0">&b;</TEI>'
)


@pytest.fixture
def paper(pdf_files: ModuleType, tmp_path: Path) -> Path:
    pages = [["A Secret Manuscript", BODY], ["References", "[1] Ann Ash. Rivers at night. 2001."]]
    return pdf_files.written(tmp_path / "confidential-name.pdf", pages)


def test_its_tei_becomes_a_paper(grobid: ModuleType, paper: Path) -> None:
    with grobid.Grobid() as server:
        found = read_with_grobid(server.url, paper, seconds=20)
        ((path, body),) = server.requests
    assert isinstance(found, PdfPaper)
    assert path == "/api/processFulltextDocument"
    assert paper.read_bytes() in body
    assert b"confidential" not in body
    assert b'name="consolidateCitations"\r\n\r\n0' in body
    assert found.titles == ("Safe Crossings for Urban Wildlife",)
    assert (found.dois, found.abstract) == (("10.1000/safe",), "We build crossings.")
    first, book = found.claims
    assert (first.title, first.year, first.venue) == ("Attention Is All You Need", 2017, "NeurIPS")
    assert [author.family for author in first.authors] == ["Zinnia", "Quill"]
    assert (first.page, first.key, book.title, book.year) == (3, "1", "A Book of Hedgehogs", 2002)
    assert [(one.reference, one.text) for one in found.sentences] == [
        (0, "Many die on roads [CITATION], and wire helps [OTHER]."),
        (1, "Many die on roads [OTHER], and wire helps [CITATION]."),
    ]
    assert [(page.number, page.text) for page in found.body] == [
        (1, "Many die on roads [1], and wire helps [2]."),
        (2, "The zorbulating pavement repels badgers."),
    ]


def test_a_busy_server_is_asked_again(grobid: ModuleType, paper: Path) -> None:
    with grobid.Grobid(busy=2) as server:
        found = read_with_grobid(server.url, paper, seconds=20, busy_seconds=0.01)
        assert isinstance(found, PdfPaper)
        assert len(server.requests) == 3
    with grobid.Grobid(busy=100) as server:
        found = read_with_grobid(server.url, paper, seconds=20, busy_seconds=0.01)
        assert isinstance(found, Problem)
        assert found.code == "grobid-busy"
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("manners", "code"),
    [
        ({"status": 500}, "grobid-refused"),
        ({"status": 302}, "grobid-refused"),
        ({"status": 204, "body": ""}, "grobid-answer"),
        ({"body": "<TEI"}, "grobid-answer"),
        ({"body": "<html/>"}, "grobid-answer"),
        ({"body": BOMB}, "grobid-answer"),
        ({"seconds": 3}, "grobid-away"),
    ],
)
def test_what_fails_is_told_and_the_file_is_read_here(
    grobid: ModuleType, paper: Path, manners: dict[str, object], code: str
) -> None:
    seconds = 1 if code == "grobid-away" else 30
    with grobid.Grobid(**manners) as server:
        options = PdfOptions(grobid=server.url, timeout_s=seconds)
        with PdfPapers(options) as papers:
            found = papers.read(paper)
        assert len(server.requests) == 1
    assert isinstance(found, PdfPaper)
    assert found.titles == ("A Secret Manuscript",)
    assert [problem.code for problem in found.problems] == [code]
    assert found.problems[0].hint


def test_a_server_that_is_gone_costs_no_file(grobid: ModuleType, paper: Path) -> None:
    server = grobid.Grobid()
    server.quit()
    with PdfPapers(PdfOptions(grobid=server.url)) as papers:
        found = papers.read(paper)
    assert isinstance(found, PdfPaper)
    assert [problem.code for problem in found.problems] == ["grobid-away"]


def test_nothing_is_sent_unless_an_address_is_named(grobid: ModuleType, paper: Path) -> None:
    with grobid.Grobid() as server, PdfPapers() as papers:
        assert isinstance(papers.read(paper), PdfPaper)
        assert server.requests == []
