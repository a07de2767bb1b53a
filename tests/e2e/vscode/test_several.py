"""Several papers at once: chosen in the list, filled in, and added, in a real VS Code."""

from __future__ import annotations

import re

PAPER = r"""
%! paper.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
Networks attend.

They learn words \citep<global vectors for word representation>.

Deep ones learn, too \citep{vaswani2017attention}.

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


BESIDE = ("BERT: Pre-training", "GloVe: Global Vectors", "Efficient Estimation of Word")
"""The two papers that are ticked, and one that others cite together with them."""


def tick(code, words: str) -> None:
    """Put a tick at the row that holds these words."""
    code.find(".quick-input-widget:visible .monaco-list-row", has_text=words).first.click()


def test_papers_with_a_tick_go_into_one_citation(window, fixture_files, tmp_path):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"))
    code.open("paper.tex")
    code.wait_ready()
    code.goto_text("paper.tex", "attend", after=True)

    code.command("Citewell: Find Several Papers and Cite Them")
    box = code.find(".quick-input-widget:visible input[type=text]")
    box.fill("bert pre-training of deep bidirectional transformers")
    tick(code, "BERT: Pre-training of Deep Bidirectional Transformers")
    box.fill("global vectors for word representation")
    tick(code, "Global Vectors for Word Representation")
    code.screenshots("ticked")
    # What was ticked before still stands there.
    rows = code.texts(".quick-input-widget:visible .monaco-list-row")
    assert any("BERT: Pre-training" in row for row in rows)

    # Papers cited together with those are listed on request; ticks stay.
    box.fill("")
    code.find('.quick-input-widget:visible [aria-label*="cited together"]').click()

    def are_beside() -> bool:
        rows = code.texts(".quick-input-widget:visible .monaco-list-row")
        heads = [next((n for n, row in enumerate(rows) if one in row), 99) for one in BESIDE]
        return heads[:2] == [0, 1] and heads[2] < 99

    code.wait(are_beside)
    box.press("Enter")

    code.wait(lambda: code.dirty() == {"paper.tex"})
    code.wait(lambda: "pennington" in code.editor.inner_text())
    code.save_all()
    pattern = r"Networks attend[ ~]?\\citep\{(\w+), ?(\w+)\}\."
    found = re.search(pattern, code.read("paper.tex").decode())
    assert found is not None
    bib = code.read("refs.bib").decode()
    assert [key for key in found.groups() if f"{{{key}," in bib] == list(found.groups())
    assert "devlin" in found[1] and "pennington" in found[2]


def test_placeholders_are_filled_and_missing_entries_added_by_a_command(
    window, fixture_files, tmp_path
):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"))
    code.open("paper.tex")
    code.wait_ready()

    code.command("Citewell: Add All Missing Entries")
    code.wait(lambda: "@inproceedings{vaswani2017attention," in code.read("refs.bib").decode())

    code.command("Citewell: Fill Placeholders in This Document")
    code.wait(lambda: "paper.tex" in code.dirty())
    code.save_all()
    assert "\\citep{pennington2014glove}" in code.read("paper.tex").decode()
