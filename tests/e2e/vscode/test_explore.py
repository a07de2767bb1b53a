"""A literature search whose papers are cited at once, in a real VS Code with default settings."""

from __future__ import annotations

import re
from typing import Any

PAPER = r"""
%! paper.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
Neural networks attend over the neighbours of a node.

Words become vectors \citep{zuse1969}.

\bibliographystyle{plainnat}
\bibliography{refs}
\end{document}
%! refs.bib
@article{zuse1969,
  author  = {Zuse, Konrad},
  title   = {Rechnender Raum},
  journal = {Schriften zur Datenverarbeitung},
  year    = {1969}
}
"""
PICK = ".quick-input-widget:visible"
ROWS = f"{PICK} .monaco-list-row"


def opened(window: Any, fixture_files: Any, folder: Any) -> Any:
    code = window(fixture_files(PAPER).write(folder))
    code.open("paper.tex")
    code.wait_ready()
    return code


def ask(code: Any, question: str) -> None:
    """Type the question into the open list, and wait for all passes."""
    code.find(f"{PICK} input[type=text]").fill(question)
    wait_complete(code, question)


def wait_complete(code: Any, question: str) -> None:
    title = code.find(f"{PICK} .quick-input-title")
    pattern = r"Citewell: \d+ papers on “" + re.escape(question)
    code.wait(lambda: re.search(pattern, title.inner_text()))


def tick(code: Any, words: str) -> None:
    """Put a tick at the row that shows these words; a row may hold hidden words of an earlier one."""
    rows = code.texts(ROWS)
    code.find(ROWS).nth(next(n for n, row in enumerate(rows) if words in row)).click()


def test_ticked_papers_of_a_literature_search_become_one_citation(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    code.command("Citewell: Explore Literature")
    # Without a selection, the paragraph is the question.
    wait_complete(code, "Neural networks attend")

    ask(code, "graph attention networks since 2015")
    rows = code.texts(ROWS)
    assert rows[0].startswith("Without year: 2015-")
    assert any("Graph Attention Networks" in row for row in rows)
    tick(code, "Veličković et al. 2018")
    code.screenshots("explored")

    # A part of the question is taken away; what was ticked stays.
    tick(code, "Without year: 2015-")
    box = code.find(f"{PICK} input[type=text]")
    code.wait(lambda: box.input_value() == "graph attention networks")
    code.wait(lambda: "Graph Attention Networks" in code.texts(ROWS)[0])
    ask(code, "semi-supervised classification with graph convolutional networks")
    assert "Graph Attention Networks" in code.texts(ROWS)[0]
    tick(code, "Kipf, Welling 2017")
    box.press("Enter")

    code.wait(lambda: code.dirty() == {"paper.tex"})
    code.wait(lambda: "kipf" in code.editor.inner_text())
    code.save_all()
    pattern = r"of a node[ ~]\\citep\{(\w+),(\w+)\}\."
    found = re.search(pattern, code.read("paper.tex").decode())
    assert found is not None
    assert "velickovic" in found[1] and "kipf" in found[2]
    bib = code.read("refs.bib").decode()
    assert [bib.count(f"{{{key},") for key in found.groups()] == [1, 1]


def row_of(code: Any, words: str) -> Any:
    """The row in view that shows these words."""
    rows = code.texts(ROWS)
    return code.find(ROWS).nth(next(n for n, row in enumerate(rows) if words in row))


def press_button(code: Any, icon: str, row: Any = None) -> None:
    """Press a button of the list or of a row, away from the hover that may cover it."""
    code.page.mouse.move(1200, 700)
    if row is not None:
        row.hover()
    (row or code.find(PICK)).locator(f".codicon-{icon}").click()


def explored(code: Any, question: str) -> list[str]:
    """The first rows of a complete list."""
    code.command("Citewell: Explore Literature")
    wait_complete(code, "Neural networks attend")
    ask(code, question)
    code.wait(lambda: "Graph Attention Networks" in code.texts(ROWS)[0])
    return list(code.texts(ROWS))


def test_kept_and_rejected_papers_make_a_new_list(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    explored(code, "graph attention networks")
    title = code.find(f"{PICK} .quick-input-title")
    # The active paper by its key, another one by its button.
    code.press("Control+Shift+ArrowDown")
    code.wait(lambda: "0 kept, 1 rejected: search again" in title.inner_text())
    assert "rejected · relevant" in code.texts(ROWS)[0]
    kept = "Brody et al. 2022"
    press_button(code, "thumbsup", row_of(code, kept))
    code.wait(lambda: "1 kept, 1 rejected: search again" in title.inner_text())
    # Nothing moves until the author asks for it.
    assert "Graph Attention Networks" in code.texts(ROWS)[0]
    code.screenshots("judged")
    # Enter cites no paper that was just rejected.
    code.press("Enter")
    code.press("Control+r")
    code.wait(lambda: "List the rejected paper again" in code.texts(ROWS)[0])
    wait_complete(code, "graph attention networks")
    assert kept in code.texts(ROWS)[1] and "kept · " in code.texts(ROWS)[1]
    assert not any("Veličković et al. 2018" in row for row in all_rows(code))
    # The rejection can be taken back, and the verdict too.
    box = code.find(f"{PICK} input[type=text]")
    box.press("Control+Home")
    tick(code, "List the rejected paper again")
    code.wait(lambda: kept in code.texts(ROWS)[0])
    wait_complete(code, "graph attention networks")
    assert any("Veličković et al. 2018" in row for row in all_rows(code))
    code.press("Escape")
    code.find(PICK).wait_for(state="hidden")
    assert code.dirty() == set()


def test_each_paper_states_how_likely_it_answers_and_why(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    rows = explored(code, "graph attention networks")
    relevance = re.search(r"relevant \d+%", rows[0])
    assert relevance is not None
    others = [row for row in all_rows(code) if "%" in row and "relevant" not in row]
    assert others and all(re.search(r"(<1|\d)% · ", row) for row in others)
    box = code.find(f"{PICK} input[type=text]")
    box.press("Control+Home")
    press_button(code, "open-preview")
    code.wait(lambda: "Why:" in page_text(code))
    assert f"Relevance: {relevance[0]}" in page_text(code)


def test_what_the_papers_are_about_is_shown_beside_the_list(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    explored(code, "graph attention networks")
    press_button(code, "list-tree")
    # The page wraps its lines.
    code.wait(lambda: re.search(r"\(\d+ papers\)", " ".join(page_text(code).split())))
    code.screenshots("overview")
    assert re.search(r"“.+” \[.+ \d{4}: .+\]", " ".join(page_text(code).split()))
    # The list is still open, and a paper can be cited.
    tick(code, "Veličković et al. 2018")
    code.find(f"{PICK} input[type=text]").press("Enter")
    code.wait(lambda: code.dirty() == {"paper.tex"})


def page_text(code: Any) -> str:
    """The text in view on the page beside the list."""
    lines = code.find(".editor-instance .view-lines").all()
    text = "\n".join(one.inner_text() for one in lines).replace("\xa0", " ")
    return str(text)


def test_later_passes_leave_the_active_paper_where_it_is(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    code.command("Citewell: Explore Literature")
    wait_complete(code, "Neural networks attend")
    box = code.find(f"{PICK} input[type=text]")
    box.fill("neural machine translation")
    title = code.find(f"{PICK} .quick-input-title")
    code.wait(lambda: "neural machine" in title.inner_text())
    # A pass may come at any time, also between two keys.
    for _ in range(4):
        box.press("ArrowDown")
    focused = code.find(f"{PICK} .monaco-list-row.focused")
    before = without_relevance(focused.inner_text())
    wait_complete(code, "neural machine translation")
    assert without_relevance(focused.inner_text()) == before
    count = re.search(r"(\d+) papers", title.inner_text())
    assert count is not None and int(count[1]) > 50
    # Passes are named in the list.
    rows = all_rows(code)
    assert any("like the best papers" in row or "as references" in row for row in rows), rows


def without_relevance(row: str) -> str:
    """A row without its relevance, which later passes may change."""
    return re.sub(r"(<1|\d+)%", "", row)


def all_rows(code: Any) -> list[str]:
    """The rows that come into view on the way to the end of the list."""
    box = code.find(f"{PICK} input[type=text]")
    rows: list[str] = []
    for _ in range(12):
        rows += code.texts(ROWS)
        rows += code.texts(f"{PICK} .quick-input-list-separator")
        box.press("PageDown")
    return rows


def test_the_selection_is_the_question_and_escape_changes_nothing(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "Words become", after=False)
    for _ in "Words become vectors":
        code.press("Shift+ArrowRight")
    code.command("Citewell: Explore Literature")
    wait_complete(code, "Words become vectors")
    assert code.find(f"{PICK} input[type=text]").input_value() == "Words become vectors"
    code.press("Escape")
    code.find(PICK).wait_for(state="hidden")
    assert code.dirty() == set()
