"""What the author is told in a terminal of 80 x 24: one line, and no key has to be pressed."""

from __future__ import annotations

from typing import Any

PAPER = "\\documentclass{article}\n\\begin{document}\nSee\n\\bibliography{refs}\n\\end{document}\n"
LONG = "word " * 60
SERVER = "vim.fn.systemlist({ 'pgrep', '-P', tostring(vim.fn.getpid()), '-f', 'citewell' })"
CLIENT = "(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {})"


def last_line(editor: Any) -> str:
    return editor.shown().splitlines()[-1]


def test_a_long_message_is_one_line_and_whole_in_the_list(open_neovim: Any) -> None:
    editor = open_neovim({})
    editor.lua("require('citewell.messages').notify(...)", LONG)
    editor.wait_until_shown("… (:Citewell messages)")
    assert last_line(editor).startswith("Citewell: word word")
    assert len(last_line(editor)) <= 80
    editor.keys(":Citewell messages<CR>")
    editor.wait("vim.bo.buftype == 'nofile' and vim.fn.bufname():find('citewell://', 1, true)")
    assert editor.text().strip() == LONG.strip()
    editor.keys("q")
    editor.wait("vim.bo.buftype == ''")


def test_a_message_waits_while_the_author_types_a_command(open_neovim: Any) -> None:
    editor = open_neovim({})
    editor.keys(":echo 'my command'")
    editor.wait_until_shown(":echo 'my command'")
    editor.lua("require('citewell.messages').notify('something')")
    assert last_line(editor) == ":echo 'my command'"
    editor.keys("<C-u><BS>")
    editor.wait_until_shown("Citewell: something")


def test_a_missing_server_is_told_in_one_line_once(
    open_neovim: Any, environment: dict[str, str], tmp_path: Any
) -> None:
    environment["PATH"] = str(tmp_path)
    files = {"main.tex": PAPER, "more.tex": PAPER}
    editor = open_neovim(files, arguments=("main.tex",))
    editor.wait_until_shown("Citewell: the server is missing")
    editor.keys(":edit more.tex<CR>")
    editor.wait("vim.fn.expand('%:t') == 'more.tex'")
    editor.lua("require('citewell.messages').notify('the end')")
    editor.wait_until_shown("Citewell: the end")
    history = editor.lua("return require('citewell.messages').history()")
    assert history.count("the server is missing") == 1


def kill(editor: Any) -> int:
    """End the running server as a crash would; the number of its client."""
    editor.wait(f"{CLIENT}.initialized")
    client = editor.lua(f"return {CLIENT}.id")
    editor.lua(f"vim.uv.kill(tonumber({SERVER}[1]), 'sigkill')")
    return client


def test_a_server_that_dies_is_started_again_and_gives_up_after_the_third_time(
    start_neovim: Any,
) -> None:
    editor = start_neovim({"main.tex": PAPER}, "main.tex")
    for _ in range(3):
        client = kill(editor)
        editor.wait(f"{CLIENT}.initialized and {CLIENT}.id ~= {client}")
    history = editor.lua("return require('citewell.messages').history()")
    assert history.count("the server ended (signal 9) and was started again") == 3
    editor.wait_until_shown("Citewell: the server ended (signal 9) and was started again")
    # It serves as before.
    editor.keys("3GA")
    editor.type(" \\cite<graph attention networks")
    editor.wait("vim.fn.pumvisible() == 1")
    editor.keys("<Esc>")
    kill(editor)
    editor.wait_until_shown("Citewell: the server ended 4 times: :Citewell log, :Citewell restart")
    assert editor.lua("return #vim.lsp.get_clients()") == 0
    editor.keys(":Citewell restart<CR>")
    editor.wait(f"{CLIENT}.initialized")
    assert "quit with exit code" not in editor.messages()


def test_a_library_that_is_built_shows_how_far_it_is(
    start_neovim: Any, tmp_path: Any, environment: dict[str, str]
) -> None:
    environment["CITEWELL_LIBRARY_PATH"] = str(tmp_path / "own")
    papers = "".join(
        f"@article{{key{n},\n  title = {{Paper {n} of many}},\n  author = {{Doe, Jane}},\n"
        f"  year = {{2001}},\n}}\n"
        for n in range(3000)
    )
    editor = start_neovim({"main.tex": PAPER, "many.bib": papers}, "main.tex", more="settings = {}")
    editor.lua(
        """
        _G.shown = {}
        local echo = vim.api.nvim_echo
        vim.api.nvim_echo = function(chunks, ...)
          table.insert(_G.shown, chunks[1][1])
          return echo(chunks, ...)
        end
        """
    )
    editor.keys(":Citewell library add many.bib<CR>")
    editor.wait_until_shown("Citewell: building the library")
    editor.wait_until_shown("Citewell: library built: 3,000 papers (:Citewell messages)")
    shown = editor.lua("return _G.shown")
    stages = ("Read", "Merge", "Write", "Index", "Seal", "Done in")
    stage_lines = [line.removeprefix("Citewell: building the library: ") for line in shown]
    assert any(line.startswith(stages) for line in stage_lines), shown
    assert "0 duplicates merged" in editor.lua("return require('citewell.messages').history()")
