"""Markdown, and the list of papers that searches as one types, in a real VS Code."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
REAL = REPOSITORY.parent / "shared/data/projects/markdown" / "x-tabdeveloping__turftopic"
OWN = r"""
%! paper.md
---
title: A note
bibliography: paper.bib
---

Siamese BERT networks derive sentence embeddings, compared by cosine [CITATION].
%! paper.bib
@article{zuse1969,
  author  = {Zuse, Konrad},
  title   = {Rechnender Raum},
  journal = {Schriften zur Datenverarbeitung},
  year    = {1969}
}
"""


def test_markdown_placeholders_become_citations(window, fixture_files, tmp_path):
    before = fixture_files(OWN).files
    code = window(fixture_files(OWN).write(tmp_path / "paper"))
    code.open("paper.md")
    code.wait_ready()

    # Words of one's own in the prose.
    code.goto(7, 1)
    code.type("Words are embedded, too [@?global vectors for word repres")
    code.wait_suggestion("Pennington et al. 2014 · GloVe")
    code.screenshots("list")
    code.type("entation")
    assert code.accept("GloVe").startswith("Pennington et al. 2014 · GloVe")
    code.wait(lambda: code.dirty() == {"paper.md"})
    code.type("].")  # over the bracket that the editor had closed

    # A marker that stood there: the best paper for its sentence.
    code.save_all()
    code.goto_text("paper.md", "[CITATION", after=True)
    code.press("Control+Space")
    code.wait_suggestion("Sentence-BERT")
    code.screenshots("marker")
    code.accept("Sentence-BERT")
    code.wait(lambda: code.dirty() == {"paper.md"})
    code.save_all()

    text = before["paper.md"] + "Words are embedded, too [@pennington2014glove]."
    assert code.read("paper.md").decode() == text.replace(
        "[CITATION]", "[@reimers2019sentencebert]"
    )
    bib = code.read("paper.bib").decode()
    assert bib.startswith(before["paper.bib"])
    assert bib.count("\n@inproceedings{") == 2
    assert "Global Vectors for Word Representation}" in bib.removeprefix(before["paper.bib"])


WORDS = r"""
%! paper.md
---
bibliography: paper.bib
---

Bracketed words are embedded by embankments that are worded.

%! paper.bib
@article{zuse1969, author = {Zuse, Konrad}, title = {Rechnender Raum}, year = {1969}}
"""


@pytest.mark.parametrize("bracket", ["closed by the editor", "open"])
def test_words_with_blanks_are_searched_in_markdown_as_the_editor_is_installed(
    window, fixture_files, tmp_path, bracket
):
    before = fixture_files(WORDS).files["paper.md"]
    code = window(fixture_files(WORDS).write(tmp_path / "paper"))
    code.open("paper.md")
    code.wait_ready()
    code.goto(6, 1)
    code.type("See [@")
    if bracket == "open":
        code.press("Delete")
    code.type("word")
    code.type(" ")
    words = {"words", "worded", "embedded", "embankments", "Bracketed"}
    for letter in ("", *"embeddings "):
        if letter:
            code.type(letter)
        code.wait(lambda: code.suggestions() and words.isdisjoint(code.suggestions()))
    code.accept()
    code.wait(lambda: code.dirty() == {"paper.md"})
    code.save_all()
    beginning = f"{before[:-1]}See [@"
    text = code.read("paper.md").decode()
    assert text.startswith(beginning)
    key = text.removeprefix(beginning).removesuffix("]\n")
    assert key.isalnum()
    assert text == f"{beginning}{key}]\n"
    assert f"{{{key},".encode() in code.read("paper.bib")


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/projects beside the checkout")
def test_a_paper_is_found_in_the_list_and_cited_in_a_real_document(window, copied):
    folder = copied(REAL)
    before = {name: (folder / name).read_bytes() for name in ("paper.md", "paper.bib")}
    code = window(folder)
    code.open("paper.md")
    code.wait_ready()
    place = "topic modelling in recent years"
    code.goto_text("paper.md", place, after=True)
    code.press("Control+Alt+p")
    code.find(".quick-input-widget:visible input").wait_for()
    code.type("topic modeling in embedding spaces")
    row = code.find(".quick-input-widget .monaco-list-row").first
    code.wait(lambda: "Topic Modeling in Embedding Spaces" in row.inner_text())
    shown = " ".join(row.inner_text().split())
    assert "Dieng et al. 2020 · Topic Modeling" in shown and "TACL" in shown
    code.screenshots("papers")
    code.press("Enter")
    code.wait(lambda: code.dirty() == {"paper.md"})
    code.save_all()
    wanted = f"{place} [@dieng2020topic]".encode()
    assert code.read("paper.md") == before["paper.md"].replace(place.encode(), wanted, 1)
    assert code.read("paper.bib").startswith(before["paper.bib"])
    assert b"Topic Modeling in Embedding Spaces" in code.read("paper.bib")
    code.screenshots("cited")
