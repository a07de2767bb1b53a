"""A check as files, of a text and of a PDF."""

from __future__ import annotations

import base64
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

WRONG = """@article{late,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  journal = {Neural Computation},
  year = {2003},
}
"""
EVERY = ["fixes", "sarif", "html"]


def test_the_corrected_text_differs_by_its_diff_alone(client: Any) -> None:
    body = {"text": WRONG, "name": "own.bib", "forms": EVERY}
    found = client.post("/v1/check", json=body).json()
    assert found["fixed"] == WRONG.replace("2003", "1997")
    assert found["diff"].startswith("--- a/own.bib\n+++ b/own.bib\n")
    assert "-  year = {2003},\n+  year = {1997},\n" in found["diff"]
    again = client.post("/v1/check", json={"text": found["fixed"]}).json()
    assert again["counts"] == {"verified": 1}


def test_sarif_and_html_name_the_file_that_was_sent(client: Any) -> None:
    body = {"text": WRONG, "name": "own.bib", "forms": EVERY}
    found = client.post("/v1/check", json=body).json()
    (run,) = found["sarif"]["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "own.bib"}, "region": {"startLine": 1}}
    assert found["html"].startswith("<!doctype html>") and "own.bib" in found["html"]


def test_entries_are_changed_with_the_papers_that_cite_them(client: Any) -> None:
    names = 'Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen'
    fake = (
        WRONG.replace("late", "fake").replace("2003", "1997").replace(names, "Roe, Jo and Poe, Al")
    )
    body = {"text": WRONG + fake, "name": "own.bib"}
    found = client.post("/v1/check", json=body).json()
    late, one = found["references"]
    assert late["changes"] == ["record", "mark"]
    assert one["changes"] == ["record", "remove", "mark"]
    assert (one["key"], one["title"], one["authors"]) == (
        "fake", "Long Short-Term Memory", ["Roe", "Poe"]
    )  # fmt: skip
    papers = {"main.tex": "See \\cite{fake,late}.", "b.md": "As @late says.\n"}
    changes = {"fake": "remove", "late": "mark"}
    found = client.post("/v1/check", json={**body, "changes": changes, "papers": papers}).json()
    assert found["texts"]["main.tex"] == "See \\cite{?,late}." and "b.md" not in found["texts"]
    marked = found["texts"]["own.bib"]
    assert marked.endswith(WRONG) and marked.startswith("% citewell: ignore year-differs: checked ")
    assert "--- a/main.tex" in found["diff"] and "--- a/own.bib" in found["diff"]
    (again,) = client.post("/v1/check", json={"text": marked}).json()["references"]
    assert again["words"].startswith("wrong detail, marked as checked on 20")
    assert again["marked"][:2] == "20" and "changes" not in again
    meant = client.post(
        "/v1/check", json={**body, "changes": {"fake": "10.1162/neco.1997.9.8.1735"}}
    )
    assert "title={Long Short-Term Memory}" in meant.json()["texts"]["own.bib"].replace(" = ", "=")
    for wrong in ({"nobody": "mark"}, {"fake": "fx:none"}):
        answer = client.post("/v1/check", json={**body, "changes": wrong})
        assert answer.status_code in (404, 422), answer.json()


def test_the_list_of_a_pdf_is_checked(client: Any, pdf_files: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    pages = [
        ["A Paper", "It says something."],
        [
            "References",
            "[1] S. Hochreiter and J. Schmidhuber. Long short-term memory. Neural Computation, 1997.",
        ],
    ]
    path = pdf_files.written(tmp_path / "a.pdf", pages)
    body = {"pdf": base64.b64encode(path.read_bytes()).decode(), "name": "a.pdf", "forms": EVERY}
    found = client.post("/v1/check", json=body).json()
    (one,) = found["references"]
    assert (one["verdict"], one["page"]) == ("verified", 2)
    assert one["record"]["title"] == "Long Short-Term Memory"
    assert "a.pdf" in found["html"] and "diff" not in found


def test_a_pdf_that_is_none_is_a_problem_without_a_path(client: Any) -> None:
    pytest.importorskip("pypdfium2")
    body = {"pdf": base64.b64encode(b"no PDF at all").decode()}
    found = client.post("/v1/check", json=body).json()
    assert found["status"] == "no_references"
    assert found["problems"] and "/" not in found["problems"][0]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"pdf": "not Base64!"},
        {"pdf": "QQ==", "text": WRONG},
        {"pdf": "QQ==", "entries": [WRONG]},
        {"text": WRONG, "forms": ["pdf"]},
        {"text": WRONG, "name": "../own.bib"},
    ],
)
def test_other_requests_are_refused(client: Any, problem: Any, body: dict[str, Any]) -> None:
    assert problem(client.post("/v1/check", json=body)) == (422, "request-invalid")


def test_the_sentences_without_a_citation_are_listed(client: Any) -> None:
    text = "Recent work has shown that attention helps translation 𝛼. We use it \\cite{?} for all our sentences. We thank our colleagues for the good coffee."
    found = client.post("/v1/places", json={"text": text}).json()
    assert found["placeholders"] == 1
    assert [one["likely"] for one in found["places"]] == [True, False]
    first, last = found["places"]
    assert text[: first["at"]].endswith("translation 𝛼")
    assert first["sentence"].endswith("translation 𝛼 [CITATION].")
    assert text[: last["at"]].endswith("coffee")
