"""The server is installed from the extension alone, and what runs is left alone when that fails."""

from __future__ import annotations

import sys
from pathlib import Path

INSTALLING = 540.0
"""Seconds for an index that is far away and a machine that is busy."""
README = """
%! README.md
# Notes

Nothing is cited here.
"""
OWN = r"""%! own.bib
@inproceedings{vaswani2017attention,
  author    = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki},
  title     = {Attention is All you Need},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2017}
}
"""


def servers(editor) -> list[Path]:
    """The environments that the extension made."""
    folder = editor.user / "User" / "globalStorage" / "citewell.citewell" / "servers"
    return sorted(path for path in folder.glob("*") if path.is_dir())


def test_the_server_comes_with_the_extension_and_the_sample_takes_the_first_citation(
    newcomer, window, fixture_files, tmp_path
):
    editor, _ = newcomer(python=True)
    folder = fixture_files(README + OWN, first="README.md").write(tmp_path / "notes")
    code = window(folder, editor)

    # 1. Install by the button: the wheel lies in the extension, what it needs comes from the index.
    code.open("README.md")
    code.answer("The Citewell server was not found", "Install Server")
    code.wait(lambda: "no library" in code.citewell(), INSTALLING)
    assert "no server" not in code.citewell()
    (environment,) = servers(editor)
    assert str(environment) in code.citewell()
    code.screenshots("installed")

    # 2. A library of one's own.
    code.command("Notifications: Clear All Notifications")
    code.command("Citewell: Choose a Library of Papers")
    code.choose("My own files")
    dialog = code.find(".quick-input-widget:visible", has_text="Add to the Library")
    dialog.locator(".monaco-list-row", has_text="own.bib").click()
    code.wait(lambda: any("Citewell searches 1 papers now" in m for m in code.messages()))
    code.command("Notifications: Clear All Notifications")

    # 3. The sample, which lies in no folder that is open: paper and .bib take the citation.
    code.command("Citewell: Open Sample Paper")
    code.find('.tab.active[data-resource-name="sample.tex"]').wait_for()
    # The cursor stands behind the words.
    code.wait(lambda: "Ln 8, Col 69" in code.status())
    code.wait(lambda: "1 papers" in code.citewell())
    code.press("Control+Space")
    code.accept("Vaswani et al. 2017 · Attention")
    code.wait(lambda: code.dirty() == {"sample.tex"})
    code.save_all()
    sample = editor.user / "User" / "globalStorage" / "citewell.citewell" / "sample"
    assert "\\citep{vaswani2017attention}" in (sample / "sample.tex").read_text()
    assert "Attention is All you Need" in (sample / "sample.bib").read_text()
    code.screenshots("cited")


def test_a_failed_install_leaves_the_server_that_runs_alone_and_says_what_to_do(
    newcomer, window, fixture_files, tmp_path
):
    broken = {"citewell.server.package": "/nowhere/citewell-9.whl"}
    editor, programs = newcomer(broken, python=True)
    (programs / "citewell").symlink_to(Path(sys.executable).parent / "citewell")
    code = window(fixture_files(README, first="README.md").write(tmp_path / "notes"), editor)
    code.open("README.md")
    code.wait(lambda: "no library" in code.citewell())
    before = code.citewell()
    code.command("Notifications: Clear All Notifications")

    code.command("Citewell: Install Server")
    words = " ".join(code.message("Installing the Citewell server failed").inner_text().split())
    assert "correct the setting citewell.server.package" in words
    assert "The running server was not changed." in words
    assert "Try Again" in words
    code.screenshots("failed")
    assert code.citewell() == before
    assert servers(editor) == []
