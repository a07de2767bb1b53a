"""`citewell` with PDFs, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from tests.e2e.conftest import Run, citewell_in

BODY = "A line of the body that is long enough to be read as the text of a page."


@pytest.fixture
def citewell(env: dict[str, str], tmp_path: Path, pdf_files: ModuleType) -> Run:
    pdf_files.written(
        tmp_path / "manuscript.pdf",
        [
            ["On the Use of Attention", BODY, BODY],
            [
                "References",
                "[1] A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez,",
                "L. Kaiser, and I. Polosukhin. Attention Is All You Need. In NeurIPS, 2017.",
                "[2] Zed Zinnia and Quentin Quill. Attention is all you need. In NeurIPS, 2017.",
                "[3] Ann Ash. A paper that nobody has heard of so far. In NeurIPS, 2016.",
            ],
        ],
    )
    return citewell_in(tmp_path, env)


def test_a_check_of_a_pdf_names_page_and_number(citewell: Run) -> None:
    run = citewell("check", "manuscript.pdf")
    assert run.returncode == 1, run.stderr
    assert "manuscript.pdf: Reference 2 (page 2)  likely fabricated" in run.stdout
    assert "3 references: 1 likely fabricated, 1 not found, 1 verified." in run.stdout
    assert citewell("check", "--fail-on", "never", "manuscript.pdf").returncode == 0


def test_json_and_sarif_name_page_and_number(citewell: Run) -> None:
    found = json.loads(citewell("check", "--format", "json", "manuscript.pdf").stdout)
    claims = [check["claim"] for check in found["checks"]]
    assert [(claim["page"], claim["key"]) for claim in claims] == [(2, "1"), (2, "2"), (2, "3")]
    log = json.loads(citewell("check", "--format", "sarif", "manuscript.pdf").stdout)
    (result, *_) = log["runs"][0]["results"]
    assert result["message"]["text"].startswith("Reference 2 (page 2): ")
    assert (result["properties"]["page"], result["properties"]["reference"]) == (2, "2")
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_pdf_that_cannot_be_read_stops_no_other(
    citewell: Run, pdf_files: ModuleType, tmp_path: Path
) -> None:
    pdf_files.written(tmp_path / "locked.pdf", [[BODY]], encrypted=True)
    run = citewell("check", "locked.pdf", "manuscript.pdf")
    assert run.returncode == 1
    assert "[pdf-encrypted]" in run.stderr
    assert "3 references" in run.stdout
    assert citewell("check", "locked.pdf").returncode == 2


def test_grobid_reads_where_its_address_is_given(citewell: Run, grobid: ModuleType) -> None:
    with grobid.Grobid() as server:
        assert citewell("check", "manuscript.pdf").returncode == 1
        assert server.requests == []
        run = citewell("check", "--grobid", server.url, "manuscript.pdf")
        assert len(server.requests) == 1
    assert run.returncode == 1
    assert "manuscript.pdf: Reference 1 (page 3)  likely fabricated" in run.stdout
    assert citewell("check", "--grobid", "no address", "manuscript.pdf").returncode == 2


def test_added_pdfs_are_found_by_their_text(
    citewell: Run, grobid: ModuleType, pdf_files: ModuleType, tmp_path: Path
) -> None:
    pages = [["A Zorbulating Manuscript of Ours", BODY, "Quibbling pavements repel all badgers."]]
    pdf_files.written(tmp_path / "own.pdf", pages)
    run = citewell("library", "add", "--name", "papers", "own.pdf")
    assert run.returncode == 0, run.stderr
    assert "the full text of 1" in run.stdout
    assert "[pdf-unknown]" in run.stderr
    run = citewell("--library", "papers", "find", "quibbling pavements")
    assert "A Zorbulating Manuscript of Ours" in run.stdout
    assert "Quibbling pavements repel all badgers.” (page 1)" in run.stdout
