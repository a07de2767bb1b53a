"""The review in a real VS Code: a view whose rows open their places and act there, and a new review."""

from __future__ import annotations

from typing import Any

PAPER = r"""
%! paper.tex
\documentclass{article}
\begin{document}
Machines compute space \cite{zuse1969}, as \cite{zuze1969} says.
We score the answers with BERTScore as well.
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
%! refs.bib
@book{zuse1969,
  title = {Rechnender Raum},
  author = {Zuse, Konrad},
  publisher = {Vieweg},
  doi = {http://dx.doi.org/10.1000/raum},
  year = {1969},
}
"""
VIEW = '.pane:has(.pane-header[aria-label^="Review"])'
ROWS = f"{VIEW} .monaco-list-row"


def row_of(code: Any, words: str) -> Any:
    return code.find(ROWS, has_text=words).first


def press(code: Any, words: str, button: str) -> None:
    """Press a button of the row that shows these words."""
    row = row_of(code, words)
    row.hover()
    row.get_by_role("button", name=button).click()


def test_rows_of_a_review_open_their_places_and_act_there(window, fixture_files, tmp_path):
    folder = fixture_files(PAPER).write(tmp_path / "paper")
    before = fixture_files(PAPER).files
    code = window(folder)
    code.open("paper.tex")
    code.wait_ready()
    code.command("Citewell: Review This Paper")
    row_of(code, "zuze1969").wait_for()
    rows = code.texts(ROWS)
    assert any(row.startswith("Keys and places") for row in rows)
    assert any("BERTScore" in row and "paper.tex:4 name-uncited" in row for row in rows)
    code.screenshots("review")

    # A row opens its place.
    row_of(code, "doi-link").click()
    code.find('.tab.active[data-resource-name="refs.bib"]').wait_for()
    code.wait(lambda: "Ln 5" in code.status())

    # Each action applies where its finding stands, and the paper is reviewed again.
    press(code, "doi-link", "Fix")
    row_of(code, "doi-link").wait_for(state="detached")
    press(code, "name-uncited", "Cite the Work There")
    row_of(code, "name-uncited").wait_for(state="detached")
    press(code, "undefined-key", "Silence by a Comment")
    row_of(code, "undefined-key").wait_for(state="detached")
    code.save_all()
    paper, bib = code.read("paper.tex").decode(), code.read("refs.bib").decode()
    silenced = before["paper.tex"].replace("Machines", "% citewell: ignore undefined-key\nMachines")
    key = bib.split("@inproceedings{")[1].split(",")[0]
    assert paper == silenced.replace("BERTScore", f"BERTScore~\\cite{{{key}}}")
    assert bib.startswith(before["refs.bib"].replace("http://dx.doi.org/", "").rstrip())

    # What the author corrects is gone after another review; until then the view says so.
    code.open("paper.tex")
    code.goto_text("paper.tex", "% citewell")
    code.press("Shift+End", "Delete")
    code.find(VIEW, has_text="The text has changed since the review.").wait_for()
    code.command("Citewell: Review Again")
    row_of(code, "undefined-key").wait_for()
    # A finding of another kind has its quick fixes.
    press(code, "undefined-key", "Fix")
    code.choose("Change to `zuse1969`")
    row_of(code, "undefined-key").wait_for(state="detached")
