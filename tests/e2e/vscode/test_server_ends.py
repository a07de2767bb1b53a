"""A server that ends, and messages that come by themselves: what an author sees of them."""

from __future__ import annotations

import psutil

PAPER = r"""
%! paper.tex
\documentclass{article}
\begin{document}
Nothing is cited.
\end{document}
"""


def server(code) -> psutil.Process | None:
    """The language server of the only window of an editor."""
    editor = psutil.Process(code.code.process.pid)
    found = [
        process
        for process in editor.children(recursive=True)
        if {"lsp", "--stdio"} <= set(process.cmdline())
    ]
    return found[0] if found else None


def runs(code, before: int) -> bool:
    """Another server than that one runs, and the status bar says so."""
    now = server(code)
    shown = code.citewell()
    return now is not None and now.pid != before and " papers" in shown


def test_a_server_that_ends_comes_back_without_a_word_until_it_has_ended_five_times(
    window, fixture_files, tmp_path
):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"))
    code.open("paper.tex")
    code.wait_ready()

    for _ in range(4):
        process = server(code)
        assert process is not None
        process.kill()
        code.wait(lambda pid=process.pid: runs(code, pid))
        assert not [text for text in code.messages() if "did not run" in text or "ended" in text]

    process = server(code)
    assert process is not None
    process.kill()
    words = "has ended several times and was not started again"
    assert "Restart" in code.message(words).inner_text()
    assert "stopped" in code.citewell()
    code.screenshots("ended")
    code.answer(words, "Restart")
    code.wait(lambda: runs(code, process.pid))


def test_a_message_that_comes_by_itself_can_be_silenced_in_every_window(
    newcomer, window, fixture_files, tmp_path
):
    editor, _ = newcomer()
    folder = fixture_files(PAPER).write(tmp_path / "paper")
    words = "The Citewell server was not found"
    code = window(folder, editor)
    code.open("paper.tex")
    code.answer(words, "Don't Show Again")
    code.close()

    other = window(folder, editor)
    other.open("paper.tex")
    other.wait(lambda: "no server" in other.citewell())
    # Another command's message comes after those of the start, so that theirs would stand by now.
    other.command("Citewell: Fill the Placeholders of This Document")
    assert words in other.message(words).inner_text()
    assert len([text for text in other.messages() if words in text]) == 1
    assert "Don't Show Again" not in other.message(words).inner_text()
