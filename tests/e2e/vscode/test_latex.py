"""LaTeX in a real VS Code: words are typed, the list comes up, a paper is accepted, both files hold it."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
DEMO = REPOSITORY / "server" / "citewell" / "cli" / "demo_paper"
REAL = REPOSITORY.parent / "shared/data/projects/latex" / "blodstone__NAACL-HLT-2019-Hardy-"
"""A paper of 478 lines with 60 entries, as its authors wrote it."""

ENTRY = """@inproceedings{parikh2016decomposable,
author = {Parikh, Ankur and Täckström, Oscar and Das, Dipanjan and Uszkoreit, Jakob},
booktitle = {Proceedings of the 2016 Conference on Empirical Methods in Natural Language Processing},
doi = {10.18653/v1/d16-1244},
pages = {2249--2255},
publisher = {Association for Computational Linguistics},
title = {A Decomposable Attention Model for Natural Language Inference},
url = {https://aclanthology.org/D16-1244},
year = {2016}
}
"""
"""In the form that this .bib has: fields in the order of the alphabet, at the edge, none after a comma."""
DECOMPOSABLE = "Parikh et al. 2016 · A Decomposable At…"
"""Authors, year and as much of the title as leaves room for the venue."""


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/projects beside the checkout")
def test_a_real_paper_gets_a_citation_and_its_bib_the_entry(window, copied):
    folder = copied(REAL)
    before = {name: (folder / name).read_bytes() for name in ("acl2019.tex", "acl2019_bib.bib")}
    code = window(folder)
    code.open("acl2019.tex")
    code.wait_ready()
    place = "employing recent advances in neural networks"
    code.goto_text("acl2019.tex", place, after=True)

    # The list is there before the words are complete, and it follows them.
    code.type(" \\citep<decomposable atten")
    code.wait_suggestion()
    early = code.suggestions()
    code.screenshots("list")
    code.type("tion natural language inference")
    code.wait(lambda: code.suggestions()[:1] == [DECOMPOSABLE])
    assert code.suggestions() != early
    assert not code.cut_off(".suggest-widget")
    assert code.texts(f"{code.SUGGESTIONS} .details-label")[0] == "EMNLP"
    assert not code.shortened(f"{code.SUGGESTIONS} .details-label")
    assert not code.shortened(f"{code.SUGGESTIONS} .label-name")
    code.type(">")
    code.wait(lambda: code.suggestions()[:1] == [DECOMPOSABLE])
    assert code.accept() == DECOMPOSABLE
    code.wait(lambda: code.dirty() == {"acl2019.tex"})
    code.save_all()

    tex, bib = code.read("acl2019.tex"), code.read("acl2019_bib.bib")
    wanted = f"{place} \\citep{{parikh2016decomposable}}".encode()
    assert tex == before["acl2019.tex"].replace(place.encode(), wanted, 1)
    assert bib == before["acl2019_bib.bib"] + ENTRY.encode()
    code.screenshots("accepted")

    # What was done in the paper is undone with one key; the entry was written to the disk, and stays.
    code.press("Control+z")
    code.wait(lambda: code.dirty() == {"acl2019.tex"})
    code.save_all()
    typed = f"{place} \\citep<decomposable attention natural language inference>".encode()
    assert code.read("acl2019.tex") == before["acl2019.tex"].replace(place.encode(), typed, 1)
    assert code.read("acl2019_bib.bib") == bib


OPEN = r"""
%! main.tex
\documentclass{article}
\begin{document}
Graphs are everywhere in a sentence that goes on, with p > 0.05 and more.
\bibliography{refs}
\end{document}
%! refs.bib
@article{zuse1969, title = {Rechnender Raum}, year = {1969}}
"""


def test_a_fix_at_words_that_nothing_closes_leaves_the_sentence(window, fixture_files, tmp_path):
    before = fixture_files(OPEN).files
    code = window(fixture_files(OPEN).write(tmp_path / "paper"))
    code.open("main.tex")
    code.wait_ready()
    code.goto_text("main.tex", "Graphs are everywhere", after=True)
    code.type(" \\citep<graph attention networks")
    code.wait_suggestion("Veličković et al. 2018 · Graph")
    code.press("Escape")
    code.fix("Cite Veli")
    code.wait(lambda: b"@inproceedings{velickovic2018graph," in code.read("refs.bib"))
    code.wait(lambda: "velickovic2018graph" in code.editor.inner_text())
    code.save_all()
    cited = "everywhere \\citep{velickovic2018graph} in a sentence"
    wanted = before["main.tex"].replace("everywhere in a sentence", cited)
    assert code.read("main.tex").decode() == wanted


def test_the_hover_of_an_open_placeholder_offers_its_quick_fixes(window, fixture_files, tmp_path):
    text = OPEN.replace("Graphs are", "Graphs \\citep<graph attention networks> are")
    code = window(fixture_files(text).write(tmp_path / "paper"))
    code.open("main.tex")
    code.wait_ready()
    code.wait(lambda: code.find(".squiggly-warning").count())
    code.goto_text("main.tex", "attention networks")
    code.hover("still to be cited here")
    fix = code.find(".monaco-hover:visible .action", has_text="Quick Fix")
    fix.first.wait_for()
    assert "No quick fixes available" not in code.seen()
    fix.first.click()
    titles = code.texts(".action-widget .monaco-list-row.action")
    assert titles[0].startswith("Cite Veličković et al. 2018: Graph Attention Networks"), titles
