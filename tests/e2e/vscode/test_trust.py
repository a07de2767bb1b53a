"""A folder of somebody else: its settings start no program before its authors are trusted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

PAPER = r"""
%! paper.tex
\documentclass{article}
\begin{document}
As \cite{nobody} says.
\end{document}
"""
PROGRAM = """#!{python} -P
# A server that leaves a trace.
from pathlib import Path
Path({trace!r}).touch()
from citewell.cli import main
main()
"""


@pytest.fixture
def careful(driver, extensions, code_environment, tmp_path):
    """An editor that asks whether a folder is trusted."""
    folder = tmp_path / "code"
    folder.mkdir()
    editor = driver.VisualStudioCode(folder, extensions, code_environment, {driver.TRUST: True})
    yield editor
    editor.close()


def test_a_program_that_a_folder_names_is_run_only_once_the_folder_is_trusted(
    careful, window, fixture_files, tmp_path
):
    paper = fixture_files(PAPER).write(tmp_path / "paper")
    trace, program = tmp_path / "trace", paper / "server"
    program.write_text(PROGRAM.format(python=sys.executable, trace=str(trace)), encoding="utf-8")
    program.chmod(0o755)
    settings = {"citewell.server.path": "${workspaceFolder}/server"}
    (paper / ".vscode").mkdir()
    (paper / ".vscode" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    code = window(paper, careful)
    code.find(".monaco-dialog-box .monaco-button", has_text="No, I don't trust").first.click()
    code.open("paper.tex")
    code.wait_ready()
    beside = Path(sys.executable).parent / "citewell"
    assert str(beside) in code.citewell()
    assert not trace.exists()

    code.command("Workspaces: Manage Workspace Trust")
    code.find(".workspace-trust-editor .monaco-button", has_text="Trust").first.click()
    code.wait(trace.exists)
    code.wait(lambda: str(program) in code.citewell() and " papers" in code.citewell())
