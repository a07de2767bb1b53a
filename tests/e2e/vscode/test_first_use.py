"""The first minute: only the editor and its extension are there. What is missing is said, with a button."""

from __future__ import annotations

import sys
from pathlib import Path

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
OWN = r"""
%! own.bib
@inproceedings{vaswani2017attention,
  author    = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki},
  title     = {Attention is All you Need},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2017}
}
"""
OLD = """#!{python} -P
# The server of this checkout, which says an older version.
import citewell
citewell.__version__ = "0.0.9"
from citewell.cli import main
main()
"""


def install(programs: Path, text: str) -> None:
    program = programs / "citewell"
    program.unlink(missing_ok=True)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def test_what_is_missing_is_said_with_a_button(newcomer, window, fixture_files, tmp_path):
    editor, programs = newcomer()
    code = window(fixture_files(PAPER).write(tmp_path / "paper"), editor)
    code.open("paper.tex")

    # No server: said once, beside the text, with a button; and there is no Python to install it with.
    words = "The Citewell server was not found"
    assert "Install Server" in " ".join(code.message(words).inner_text().split())
    code.wait(lambda: "no server" in code.citewell())
    code.screenshots("no-server")
    assert not code.cut_off(".notification-toast")
    code.answer(words, "Install Server")
    words = "needs Python 3.11 or newer (with venv), or uv; neither was found on the PATH"
    assert "Get Python" in code.message(words).inner_text()
    code.screenshots("no-python")
    code.command("Notifications: Clear All Notifications")

    # A server that is too old.
    install(programs, OLD.format(python=sys.executable))
    code.command("Citewell: Restart Server")
    shown = " ".join(code.message("is older than").inner_text().split())
    assert f"{programs / 'citewell'} (version 0.0.9)" in shown
    assert "Install New Server" in shown
    code.screenshots("old-server")
    code.command("Notifications: Clear All Notifications")

    # A setting that leads nowhere.
    (tmp_path / "paper" / ".vscode").mkdir()
    settings = tmp_path / "paper" / ".vscode" / "settings.json"
    settings.write_text('{"citewell.server.path": "/nowhere/citewell"}', encoding="utf-8")
    words = "citewell.server.path names /nowhere/citewell, which is not a program."
    assert "Open Setting" in code.message(words).inner_text()
    code.screenshots("wrong-setting")


def test_get_started_opens_also_while_another_walkthrough_is_shown(
    newcomer, window, fixture_files, tmp_path
):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"), newcomer()[0])
    code.open("paper.tex")
    code.wait(lambda: "no server" in code.citewell())
    code.command("Notifications: Clear All Notifications")
    code.command("Help: Welcome")
    step = code.find(".getting-started-step.expanded:visible").first
    step.click()  # the page takes the focus when it is drawn, also from the palette
    assert "Citewell" not in code.find(".gettingStartedDetailsContent:visible").inner_text()
    code.command("Citewell: Get Started")
    code.find(
        ".gettingStartedDetailsContent:visible", has_text="Get started with Citewell"
    ).wait_for()


def test_five_steps_lead_from_the_bare_editor_to_a_citation(
    newcomer, window, fixture_files, tmp_path
):
    editor, programs = newcomer()
    (programs / "citewell").symlink_to(Path(sys.executable).parent / "citewell")
    own = fixture_files(OWN, first="own.bib").write(tmp_path / "mine") / "own.bib"
    code = window(fixture_files(PAPER).write(tmp_path / "paper"), editor)

    # 1. Open the paper: the server starts, and says that there are no papers to search.
    code.open("paper.tex")
    code.wait(lambda: "no library" in code.citewell().lower())
    code.screenshots("no-library")

    # 2. Click on that in the status bar, and on the library. 3. Choose one's own files.
    code.find('.statusbar-item[id="citewell.citewell.citewell"]').click()
    code.choose("Library")
    code.find(".quick-input-widget:visible .monaco-list-row", has_text="My own files").wait_for()
    code.screenshots("libraries")
    code.choose("My own files")
    code.choose_file(own, "Add to the Library")
    code.wait(lambda: any("Citewell searches 1 papers now" in m for m in code.messages()))
    code.command("Notifications: Clear All Notifications")

    # 4. Type words. 5. Accept.
    code.goto_text("paper.tex", "attend", after=True)
    code.type(" \\citep<attention is all you need>")
    code.wait_suggestion("Vaswani et al. 2017 · Attention")
    code.accept("Vaswani et al. 2017 · Attention")
    code.wait(lambda: code.dirty() == {"paper.tex"})
    code.save_all()
    assert "Networks attend \\citep{vaswani2017attention}." in code.read("paper.tex").decode()
    assert "Attention is All you Need" in code.read("refs.bib").decode()
    code.screenshots("cited")
