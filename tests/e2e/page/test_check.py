"""A bibliography on the page: verdicts, evidence, corrections and files."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import expect

BIB = """@article{late,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  journal = {Neural Computation},
  year = {2003},
}
@misc{none, title = {Unheard of Things in <b>Porcelain</b> Teacups}, author = {Roe, Jo}, year = {2001}}
"""


@pytest.fixture
def checking(open_page: Any, url: str) -> Any:
    return open_page(url, "/?view=check")[0]


def test_a_wrong_detail_is_shown_with_its_correction(checking: Any, tmp_path: Path) -> None:
    path = tmp_path / "own.bib"
    path.write_text(BIB, encoding="utf-8")
    checking.get_by_label("Or choose a file").set_input_files(path)
    rows = checking.locator(".reference")
    expect(rows).to_have_count(2)
    late = rows.filter(has_text="wrong detail")
    expect(late).to_contain_text("2003")
    expect(late.locator("ins")).to_have_text("1997")
    diff = checking.get_by_label("Diff")
    expect(diff.locator(".removed")).to_contain_text("year = {2003}")
    expect(diff.locator(".added")).to_contain_text("year = {1997}")
    with checking.expect_download() as saved:
        checking.get_by_role("button", name="Download own.bib").click()
    assert saved.value.path().read_text("utf-8") == BIB.replace("2003", "1997")
    checking.get_by_role("checkbox", name="wrong detail").uncheck()
    expect(late).to_be_hidden()
    expect(rows.filter(has_text="not found")).to_be_visible()
    assert path.read_text(encoding="utf-8") == BIB


def test_the_result_is_downloaded_for_machines_and_people(checking: Any) -> None:
    checking.get_by_label("Paste BibTeX").fill(BIB)
    checking.get_by_role("button", name="Check", exact=True).click()
    expect(checking.locator(".reference")).to_have_count(2)
    texts = {}
    for name in ("SARIF", "JSON", "HTML"):
        with checking.expect_download() as saved:
            checking.get_by_role("button", name=name).click()
        texts[saved.value.suggested_filename] = saved.value.path().read_text("utf-8")
    assert json.loads(texts["references.sarif"])["version"] == "2.1.0"
    assert json.loads(texts["references.json"])["counts"] == {"wrong-detail": 1, "not-found": 1}
    assert texts["references.html"].startswith("<!doctype html>")


def test_a_pdf_can_be_dropped(checking: Any, pdf_files: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    line = "[1] S. Hochreiter and J. Schmidhuber. Long short-term memory. Neural Computation, 1997."
    path = pdf_files.written(tmp_path / "a.pdf", [["A Paper", "Text."], ["References", line]])
    checking.evaluate(
        """(bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], "a.pdf", {type: "application/pdf"}));
          document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        list(path.read_bytes()),
    )
    row = checking.locator(".reference")
    expect(row).to_contain_text("page 2")
    expect(row).to_contain_text("verified")
    row.get_by_role("link", name="Long Short-Term Memory").click()
    expect(checking.get_by_role("heading", name="Record")).to_be_visible()
    expect(checking.locator("aside .tag")).to_have_text("verified")
    expect(checking.locator(".busy")).to_have_count(0)


def test_an_unclosed_brace_is_named_with_its_line(checking: Any) -> None:
    checking.get_by_label("Paste BibTeX").fill(
        f"{BIB}@misc{{open, title = {{Saucers, year = 2001}}\n"
    )
    checking.get_by_role("button", name="Check", exact=True).click()
    expect(checking.locator(".notice.warn")).to_contain_text(f"Line {BIB.count(chr(10)) + 1}: ")
    expect(checking.locator(".reference").first).to_be_visible()


FAKE = """@article{fake,
  title = {Attention Is All You Need},
  author = {Smith, John and Roe, Jane},
  journal = {Nature},
  year = {2017},
}
"""


def test_buttons_act_on_a_verdict_in_the_text(checking: Any) -> None:
    text = checking.get_by_label("Paste BibTeX")
    text.fill(BIB + FAKE)
    checking.get_by_role("button", name="Check", exact=True).click()
    rows = checking.locator(".reference")
    fake = rows.filter(has_text="fake")
    expect(fake).to_contain_text("likely fabricated")
    fake.get_by_role("button", name="Mark as checked").click()
    expect(fake).to_contain_text("likely fabricated, marked as checked on 20")
    expect(fake.get_by_role("button", name="Remove")).to_have_count(0)
    assert "% citewell: ignore" in text.input_value()
    with checking.expect_download() as saved:
        checking.get_by_role("button", name="Download the changed references.bib").click()
    assert saved.value.path().read_text("utf-8") == text.input_value()
    checking.get_by_role("button", name="Undo the last change").click()
    expect(text).to_have_value(BIB + FAKE)

    fake.get_by_role("button", name="What was meant").click()
    fake.get_by_role("button", name="Replace by it").first.click()
    expect(fake).to_contain_text("verified")
    assert "Smith, John" not in text.input_value() and "@" in text.input_value()
    checking.get_by_role("button", name="Undo the last change").click()
    late = rows.filter(has_text="late")
    late.get_by_role("button", name="Take the record").click()
    expect(late).to_contain_text("verified")
    rows.filter(has_text="not found").get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(2)
    assert "{none," not in text.input_value()
