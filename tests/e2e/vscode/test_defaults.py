"""The editor as it is installed: its questions and pages come, and the first citation still goes in."""

from __future__ import annotations

import pytest

PAPER = r"""
%! paper.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
Networks attend.

\bibliographystyle{plainnat}
\bibliography{refs}
\end{document}
"""


@pytest.fixture
def untouched(driver, extensions, code_environment, tmp_path):
    """An editor in which nothing is set that the suite sets to keep pictures and times steady."""
    folder = tmp_path / "code"
    folder.mkdir()
    defaults = {
        "workbench.startupEditor": "welcomePage",
        "workbench.tips.enabled": True,
        "extensions.ignoreRecommendations": False,
        "editor.minimap.enabled": True,
        "editor.wordWrap": "off",
        "git.enabled": True,
        driver.TRUST: True,
    }
    editor = driver.VisualStudioCode(folder, extensions, code_environment, defaults)
    yield editor
    editor.close()


def test_the_first_citation_goes_in_after_the_questions_of_a_new_editor(
    untouched, window, fixture_files, tmp_path
):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"), untouched)
    code.find(".monaco-dialog-box .monaco-button", has_text="Yes, I trust the authors").click()
    code.open("paper.tex")
    code.wait_ready()
    code.goto_text("paper.tex", "attend", after=True)
    code.type(" \\citep<attention is all you need>")
    code.wait_suggestion("Vaswani et al. 2017 · Attention")
    code.accept("Vaswani et al. 2017 · Attention")
    code.wait(lambda: code.dirty() == {"paper.tex"})
    code.save_all()
    assert "Networks attend \\citep{vaswani2017attention}." in code.read("paper.tex").decode()
    assert "Attention" in code.read("refs.bib").decode()
    assert [text for text in code.messages() if "Citewell" in text] == []
