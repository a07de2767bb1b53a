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
    tick(code, "Veličković et al. · 2018")
    code.screenshots("explored")

    # A part of the question is taken away; what was ticked stays.
    tick(code, "Without year: 2015-")
    box = code.find(f"{PICK} input[type=text]")
    code.wait(lambda: box.input_value() == "graph attention networks")
    code.wait(lambda: "Graph Attention Networks" in code.texts(ROWS)[0])
    ask(code, "semi-supervised classification with graph convolutional networks")
    assert "Graph Attention Networks" in code.texts(ROWS)[0]
    tick(code, "Kipf and Welling · 2017")
    box.press("Enter")

    code.wait(lambda: code.dirty() == {"paper.tex", "refs.bib"})
    code.wait(lambda: "kipf" in code.editor.inner_text())
    code.save_all()
    pattern = r"of a node[ ~]\\citep\{(\w+),(\w+)\}\."
    found = re.search(pattern, code.read("paper.tex").decode())
    assert found is not None
    assert "velickovic" in found[1] and "kipf" in found[2]
    bib = code.read("refs.bib").decode()
    assert [bib.count(f"{{{key},") for key in found.groups()] == [1, 1]


def test_later_passes_leave_the_active_paper_where_it_is(window, fixture_files, tmp_path):
    code = opened(window, fixture_files, tmp_path / "paper")
    code.goto_text("paper.tex", "of a node", after=True)
    code.command("Citewell: Explore Literature")
    wait_complete(code, "Neural networks attend")
    box = code.find(f"{PICK} input[type=text]")
    box.fill("word vectors from co-occurrence counts")
    title = code.find(f"{PICK} .quick-input-title")
    code.wait(lambda: "word vectors" in title.inner_text())
    for _ in range(4):
        box.press("ArrowDown")
    focused = code.find(f"{PICK} .monaco-list-row.focused")
    before = focused.inner_text()
    wait_complete(code, "word vectors")
    assert focused.inner_text() == before
    count = re.search(r"(\d+) papers", title.inner_text())
    assert count is not None and int(count[1]) > 50
    # Passes are named in the list.
    assert any("like the best papers" in row or "as references" in row for row in all_rows(code))


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
