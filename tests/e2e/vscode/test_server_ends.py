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
    for process in psutil.Process(code.code.process.pid).children(recursive=True):
        try:
            if {"lsp", "--stdio"} <= set(process.cmdline()):
                return process
        except psutil.NoSuchProcess:
            continue
    return None


def end(code) -> int:
    """Kill the server; the number of its process."""
    process = code.wait(lambda: server(code))
    process.kill()
    return int(process.pid)


def runs(code, before: int) -> bool:
    """Another server than that one runs and was told of the paper: its own worker has started."""
    now = server(code)
    return now is not None and now.pid != before and bool(now.children())


def test_a_server_that_ends_comes_back_without_a_word_until_it_has_ended_five_times(
    window, fixture_files, tmp_path
):
    code = window(fixture_files(PAPER).write(tmp_path / "paper"))
    code.open("paper.tex")
    code.wait_ready()

    for _ in range(4):
        before = end(code)
        code.wait(lambda before=before: runs(code, before))
        assert not [
            text
            for text in code.messages()
            if "did not start" in text or "ended" in text or "stopped several" in text
        ]

    end(code)
    words = "stopped several times and was not restarted"
    assert "Restart" in code.message(words).inner_text()
    assert "stopped" in code.citewell()
    code.screenshots("ended")
    code.answer(words, "Restart")
    code.wait_ready()


def test_a_message_that_comes_by_itself_can_be_silenced_in_every_window(
    newcomer, window, fixture_files, tmp_path
):
    editor, _ = newcomer()
    folder = fixture_files(PAPER).write(tmp_path / "paper")
    words = "The Citewell server was not found"
    code = window(folder, editor)
    code.open("paper.tex")
    code.answer(words, "Don't Show Again")

    other = window(folder, editor, beside=code)
    other.open("paper.tex")
    other.wait(lambda: "no server" in other.citewell())
    # Another command's message comes after those of the start, so that theirs would stand by now.
    other.command("Citewell: Fill Placeholders in This Document")
    assert words in other.message(words).inner_text()
    assert len([text for text in other.messages() if words in text]) == 1
    assert "Don't Show Again" not in other.message(words).inner_text()


def test_a_readme_alone_starts_no_process_for_a_library_and_a_placeholder_does(
    window, fixture_files, tmp_path
):
    folder = fixture_files("# Notes\n\nNothing is cited.\n", first="README.md")
    code = window(folder.write(tmp_path / "notes"))
    code.open("README.md")
    code.wait_ready()
    process = server(code)
    assert process is not None
    assert process.children() == []

    code.goto(3, 18)
    code.type(" [@?attention is all you need")
    code.wait(process.children)
    code.wait_suggestion("Vaswani et al. 2017 · Attention")
