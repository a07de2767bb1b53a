"""A whole paper on the page: a folder is chosen or dropped, findings are silenced, and it is reviewed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

MAIN = r"""\documentclass{article}
\begin{document}
Machines compute space \cite{zuse1969}.
\input{parts/results}
\bibliography{refs}
\end{document}
"""
RESULTS = "It has been shown that old machines compute slowly, as \\cite{nobody} says.\n"
BIB = """@book{zuse1969,
  title = {Rechnender Raum},
  author = {Zuse, Konrad},
  publisher = {Vieweg},
  year = {1969},
}
@book{unread, title = {<b>Unread</b>}, author = {Roe, Jo}, publisher = {Vieweg}, year = {1970}}
"""
UNDEFINED = "% citewell: ignore undefined-key"


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A paper in a folder, beside files that no review reads."""
    folder = tmp_path / "thesis"
    (folder / "parts").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config.tex").write_text(r"\documentclass{secret}", encoding="utf-8")
    (folder / "plot.png").write_bytes(b"\x89PNG")
    (folder / "main.tex").write_text(MAIN, encoding="utf-8")
    (folder / "parts" / "results.tex").write_text(RESULTS, encoding="utf-8")
    (folder / "refs.bib").write_text(BIB, encoding="utf-8")
    return folder


@pytest.fixture
def reviewing(open_page: Any, url: str) -> Any:
    return open_page(url, "/?view=review")[0]


def row_of(page: Any, code: str) -> Any:
    return page.locator("li.paper").filter(has=page.locator("code", has_text=code))


def test_a_chosen_folder_is_reviewed_in_groups(reviewing: Any, paper: Path) -> None:
    reviewing.get_by_label("Choose the folder").set_input_files(paper)
    undefined = row_of(reviewing, "undefined-key")
    expect(undefined).to_contain_text("parts/results.tex:1")
    expect(undefined).to_contain_text("nobody")
    expect(undefined).to_contain_text("blocking")
    expect(reviewing.get_by_role("status").filter(has_text="3 files")).to_contain_text(
        "main.tex, parts/results.tex, refs.bib"
    )
    keys = reviewing.get_by_role("region", name="Keys and places")
    expect(keys.get_by_role("heading", level=2)).to_have_text("Keys and places (2)")
    expect(row_of(reviewing, "unused-entry")).to_contain_text("refs.bib:7")
    expect(reviewing.get_by_role("region", name="References")).to_be_visible()


def test_a_silenced_finding_shows_its_comment_which_silences_it(
    reviewing: Any, paper: Path
) -> None:
    folder = reviewing.get_by_label("Choose the folder")
    folder.set_input_files(paper)
    undefined = row_of(reviewing, "undefined-key")
    button = undefined.get_by_role("button", name="Silence undefined-key at parts/results.tex:1")
    button.click()
    expect(undefined.get_by_text("nobody")).to_be_hidden()
    expect(undefined).to_contain_text(f"above parts/results.tex:1: {UNDEFINED}")
    heading = reviewing.get_by_role("heading", name="Keys and places")
    expect(heading).to_have_text("Keys and places (1)")
    expect(undefined.get_by_role("button", name="Copy the comment")).to_be_focused()
    reviewing.keyboard.press("Enter")
    expect(undefined.get_by_role("button", name="Copied")).to_be_visible()
    assert reviewing.evaluate("navigator.clipboard.readText()") == UNDEFINED
    again = reviewing.get_by_role("button", name="Review again")
    again.click()
    expect(heading).to_have_text("Keys and places (1)")
    undefined.get_by_role("button", name="Show the finding again").click()
    expect(button).to_be_focused()
    expect(heading).to_have_text("Keys and places (2)")

    (paper / "parts" / "results.tex").write_text(f"{UNDEFINED}\n{RESULTS}", encoding="utf-8")
    again.click()
    expect(reviewing.get_by_role("alert")).to_contain_text("Choose the folder again")
    folder.set_input_files(paper)
    expect(row_of(reviewing, "unused-entry")).to_be_visible()
    expect(undefined).to_have_count(0)


def test_a_dropped_folder_is_read_again_from_the_disk(reviewing: Any, paper: Path) -> None:
    box = reviewing.locator(".drop").bounding_box()
    devtools = reviewing.context.new_cdp_session(reviewing)
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": [str(paper)], "dragOperationsMask": 1}
        place = {"x": box["x"] + 20, "y": box["y"] + 20}
        devtools.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})
    expect(row_of(reviewing, "undefined-key")).to_contain_text("parts/results.tex:1")
    (paper / "parts" / "results.tex").write_text("Nothing is cited.\n", encoding="utf-8")
    reviewing.get_by_role("button", name="Review again").click()
    expect(row_of(reviewing, "undefined-key")).to_have_count(0)
    expect(row_of(reviewing, "unused-entry")).to_be_visible()


def test_another_main_file_can_be_chosen(reviewing: Any, paper: Path) -> None:
    talk = MAIN.replace("zuse1969", "roe2001").replace("\\input{parts/results}\n", "")
    (paper / "talk.tex").write_text(talk, encoding="utf-8")
    reviewing.get_by_label("Choose the folder").set_input_files(paper)
    expect(row_of(reviewing, "undefined-key")).to_contain_text("parts/results.tex:1")
    reviewing.get_by_label("Main file").select_option("talk.tex")
    expect(row_of(reviewing, "undefined-key")).to_contain_text("talk.tex:3")


def test_files_that_are_left_out_are_named_with_the_reason(reviewing: Any, paper: Path) -> None:
    (paper / "data").mkdir()
    for number in range(198):
        (paper / "data" / f"{number:03}.json").write_text("{}", encoding="utf-8")
    (paper / "large.bib").write_text("%" * 1_000_001, encoding="utf-8")
    (paper / "what?.tex").write_text("Apples", encoding="utf-8")
    reviewing.get_by_label("Choose the folder").set_input_files(paper)
    expect(row_of(reviewing, "undefined-key")).to_be_visible()
    left = reviewing.get_by_role("list", name="Files left out").get_by_role("listitem")
    expect(left).to_have_text([
        "Left out, larger than 1 MB: large.bib",
        "Left out, beyond 200 files: data/197.json",
        "Left out, for their names: what?.tex",
    ])  # fmt: skip


def test_a_folder_without_a_paper_says_so(reviewing: Any, paper: Path) -> None:
    for path in paper.rglob("*.tex"):
        path.unlink()
    reviewing.get_by_label("Choose the folder").set_input_files(paper)
    expect(reviewing.get_by_role("alert")).to_contain_text("no file ends in .tex")
