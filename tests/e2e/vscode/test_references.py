"""References in a real VS Code: what is wrong is underlined and listed, explained, and put right."""

from __future__ import annotations

PAPER = r"""
%! paper.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
Sentences are compared word by word \citep{parikh2016decomposable}, and before that by recurrent
networks \citep{curie2017enhanced}. Some do it by inheritance \citep{mendel2019unseen}, others twice
\citep{parikh2016decomposible}.

\bibliographystyle{plainnat}
\bibliography{refs}
\end{document}
%! refs.bib
@inproceedings{parikh2016decomposable,
  author    = {Parikh, Ankur and Täckström, Oscar and Das, Dipanjan and Uszkoreit, Jakob},
  title     = {A Decomposable Attention Model for Natural Language Inference},
  booktitle = {Proceedings of the 2016 Conference on Empirical Methods in Natural Language Processing},
  year      = {2014},
  doi       = {10.18653/v1/D16-1244}
}

@inproceedings{curie2017enhanced,
  author    = {Curie, Marie and Mendel, Gregor},
  title     = {Enhanced {LSTM} for Natural Language Inference},
  booktitle = {Proceedings of the 55th Annual Meeting of the Association for Computational Linguistics},
  year      = {2017}
}

@inproceedings{mendel2019unseen,
  author    = {Mendel, Gregor and Curie, Marie},
  title     = {Pea Plants Are All You Need: Recurrent Inheritance for Sentence Comparison},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  year      = {2019}
}
"""
"""A wrong year, the authors of another world, a paper that nobody wrote, and a misspelt key."""

YEAR = "The work is from 2016, not from 2014."
AUTHORS = "None of the authors given is an author of the work."
NOBODY = "reference-not-found"
INVENTED = "curie2017enhanced (“Enhanced LSTM for Natural Language Inference”) is likely fabricated"


def test_wrong_and_invented_references_are_shown_and_put_right(window, fixture_files, tmp_path):
    folder = fixture_files(PAPER).write(tmp_path / "paper")
    code = window(folder)
    code.open("paper.tex")
    code.wait_ready()

    # Underlined and listed, in the paper and in a .bib that is not open; all rows are in view.
    code.problems()
    code.command("View: Toggle Maximized Panel")
    for words in (
        YEAR,
        AUTHORS,
        INVENTED,
        'The key "parikh2016decomposible" is not in the bibliographies',
    ):
        code.wait(lambda words=words: any(words in row for row in code.problems()))
    # The invented one is marked at its entry and where it is cited; what the library lacks is not.
    code.wait(lambda: sum(INVENTED in row for row in code.problems()) == 2)
    assert not any(NOBODY in row for row in code.problems())
    code.screenshots("problems")
    code.command("View: Toggle Maximized Panel")

    # A hover explains the citation.
    code.goto_text("paper.tex", "curie2017")
    card = code.hover("Curie")
    assert "Enhanced LSTM for Natural Language Inference" in card
    assert not code.cut_off(".monaco-hover")
    code.screenshots("hover")
    code.press("Escape")

    # The misspelt key is changed into the one that was meant.
    code.goto_text("paper.tex", "2016decomposible")
    code.fix("Change to `parikh2016decomposable`")
    code.wait(lambda: code.dirty() == {"paper.tex"})

    # The wrong year is replaced by the record's, the invented authors by the real ones.
    code.open("refs.bib")
    code.goto_text("refs.bib", "2014")
    code.wait(lambda: code.find(".squiggly-warning").count())
    titles = code.fixes()
    assert titles[0] == "Use the record's year: 2016", titles
    code.screenshots("fixes")
    assert not code.cut_off(".action-widget")
    code.press("Escape")
    code.fix("Use the record's year: 2016")
    code.wait(lambda: code.dirty() == {"paper.tex", "refs.bib"})
    code.goto_text("refs.bib", "Curie, Marie and Mendel")
    code.fix("Use the record's authors")
    code.wait(lambda: not any(AUTHORS in row or YEAR in row for row in code.problems()))
    code.save_all()
    before = fixture_files(PAPER).files
    right = "Chen, Qian and Zhu, Xiaodan and Ling, Zhen-Hua and Wei, Si and Jiang, Hui and Inkpen, Diana"
    fixed = (
        before["refs.bib"].replace("2014", "2016").replace("Curie, Marie and Mendel, Gregor", right)
    )
    assert code.read("refs.bib").decode() == fixed
    assert code.read("paper.tex").decode() == before["paper.tex"].replace("posible", "posable")


def test_the_side_panel_lists_filters_and_corrects(window, fixture_files, tmp_path):
    folder = fixture_files(PAPER).write(tmp_path / "paper")
    code = window(folder)
    code.open("paper.tex")
    code.wait_ready()
    code.command("Citewell: Show References of This Document")
    page = code.webview()
    references = page.locator("li.reference")
    wrong = references.filter(has_text="A Decomposable Attention Model")
    fix = wrong.get_by_role("button", name="Use the record's year: 2016")
    fix.wait_for()
    references.filter(has_text=AUTHORS).wait_for()
    assert references.count() == 4
    assert references.filter(has_text="no entry").count() == 1
    code.screenshots("panel")

    # Filtered by a state and by words.
    page.get_by_role("button", name="likely fabricated").click()
    code.wait(lambda: page.locator("li.reference:visible").count() == 1)
    assert "curie2017enhanced" in page.locator("li.reference:visible").inner_text()
    page.get_by_role("button", name="likely fabricated").click()
    page.get_by_role("searchbox").fill("pea plants")
    code.wait(lambda: page.locator("li.reference:visible").count() == 1)
    page.get_by_role("searchbox").fill("")

    # A click leads to the citation; another one corrects the entry.
    page.get_by_text("paper.tex:5").first.click()
    code.wait(lambda: "Ln 5" in code.status() or "Ln 4" in code.status())
    fix.click()
    wrong.filter(has_text="Verified").wait_for()
    code.save_all()
    before = fixture_files(PAPER).files
    assert code.read("refs.bib").decode() == before["refs.bib"].replace("2014", "2016")
    assert code.read("paper.tex").decode() == before["paper.tex"]
    code.screenshots("corrected")
