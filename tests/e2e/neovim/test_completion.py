"""Neovim's own completion with its default options: a list that comes up inserts nothing."""

from __future__ import annotations

from typing import Any

PAPER = """\\documentclass{article}
\\begin{document}
Graphs.
\\bibliography{refs}
\\end{document}
"""
BIB = """@book{zuse1969,
  title  = {Rechnender Raum},
  author = {Zuse, Konrad},
  year   = {1969},
}
"""
OWN = "vim.bo[vim.fn.bufnr('main.tex')].completeopt"


def open_paper(start_neovim: Any, before: str = "", **more: Any) -> Any:
    files = {"main.tex": PAPER, "refs.bib": BIB}
    editor = start_neovim(files, "main.tex", before=before, **more)
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    return editor


def test_a_list_inserts_nothing_by_itself(start_neovim: Any) -> None:
    editor = open_paper(start_neovim)
    assert editor.lua("return vim.go.completeopt") == "menu,popup"
    editor.keys("3GA")
    editor.type(" \\citep<")
    editor.wait("vim.fn.pumvisible() == 1")
    assert editor.lua("return vim.fn.getline(3)") == "Graphs. \\citep<"
    editor.type("rechnender raum")
    editor.wait("(vim.fn.complete_info({ 'items' }).items[1] or {}).abbr == 'zuse1969'")
    assert editor.lua("return vim.fn.getline(3)") == "Graphs. \\citep<rechnender raum"
    # Not by a space or by Enter either: these are the author's own text.
    editor.keys("<CR>")
    editor.wait("vim.fn.line('$') == 6")
    assert editor.text() == PAPER.replace("Graphs.", "Graphs. \\citep<rechnender raum\n")


def test_papers_are_listed_before_a_name_is_typed_to_its_end(start_neovim: Any) -> None:
    editor = open_paper(start_neovim)
    editor.keys("3GA")
    # The first list, for no letter, arrives when these are typed: it must not stay.
    editor.type(" \\citep<bahda")
    first = "(vim.fn.complete_info({ 'items' }).items[1] or {}).abbr"
    editor.wait(f"{first} == 'bahdanau2015neural'")
    editor.type("nau")
    editor.wait(
        f"vim.fn.getline(3) == 'Graphs. \\\\citep<bahdanau' and {first} == 'bahdanau2015neural'"
    )


def test_the_option_is_the_buffers_own_and_is_put_back(start_neovim: Any) -> None:
    editor = open_paper(start_neovim)
    editor.wait(f"{OWN} == 'menuone,noselect,popup'")
    assert editor.lua("return vim.go.completeopt") == "menu,popup"
    editor.call("nvim_command", "new")
    assert editor.lua("return vim.bo.completeopt") == ""
    editor.lua("vim.lsp.enable('citewell', false)")
    editor.wait("#vim.lsp.get_clients() == 0")
    editor.wait(f"{OWN} == ''")


def test_checkhealth_names_an_option_that_inserts_text(start_neovim: Any) -> None:
    editor = open_paper(start_neovim)
    editor.call("nvim_command", "checkhealth citewell")
    assert "'completeopt' in its buffers: menuone,noselect,popup" in editor.text()
    editor.call("nvim_command", "close")
    editor.call("nvim_command", "setlocal completeopt=menu")
    editor.call("nvim_command", "checkhealth citewell")
    report = editor.text()
    assert "WARNING completion in main.tex: 'completeopt' is `menu`" in report
    assert "add `noselect`" in report


def test_a_plugin_that_is_loaded_at_the_first_insertion_completes_alone(
    start_neovim: Any,
) -> None:
    """lazy.nvim loads nvim-cmp at `InsertEnter`, long after the server has started."""
    lazily = """
        vim.api.nvim_create_autocmd('InsertEnter', { once = true, callback = function()
          package.loaded['cmp'] = {}
        end })
    """
    editor = open_paper(start_neovim, lazily)
    editor.keys("3GA")
    editor.wait(f"{OWN} == ''")
    editor.type(" \\citep<graph attention>")
    editor.wait("vim.fn.getline(3) == 'Graphs. \\\\citep<graph attention>'")
    assert editor.lua("return vim.fn.pumvisible()") == 0
