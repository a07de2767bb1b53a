"""An edit of a text that was changed while the edit was on its way is made for the newer text.

Neovim applies edits without versions anywhere, and of those with versions checks only the first file.
"""

from __future__ import annotations

from typing import Any

PAPER = """\\documentclass{article}
\\begin{document}
Networks attend.
\\bibliography{refs}
\\end{document}
"""
BIB = """@book{zuse1969,
  title  = {Rechnender Raum},
  author = {Zuse, Konrad},
  year   = {1969},
}
"""
TYPE_MEANWHILE = """
local name = ...
local handlers = vim.lsp.get_clients({ name = 'citewell' })[1].handlers
local own = handlers['workspace/applyEdit']
handlers['workspace/applyEdit'] = function(err, params, context)
  handlers['workspace/applyEdit'] = own
  vim.api.nvim_buf_set_lines(vim.fn.bufnr(name), 0, 0, false, { '% typed meanwhile' })
  _G.meanwhile = true
  return (own or vim.lsp.handlers['workspace/applyEdit'])(err, params, context)
end
"""
"""The author, who types a line at the top of a file just before the first edit arrives."""


def cite(editor: Any) -> None:
    editor.call("nvim_win_set_cursor", 0, [3, 0])
    editor.keys("A")
    editor.type(" \\cite<graph attention networks>")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    editor.accept()
    editor.wait("_G.meanwhile")


def test_an_entry_is_added_to_the_newer_text(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_command", "split refs.bib")
    editor.call("nvim_command", "wincmd j")
    editor.wait("#vim.lsp.get_clients({ bufnr = vim.fn.bufnr('refs.bib') }) == 1")
    editor.lua(TYPE_MEANWHILE, "refs.bib")
    cite(editor)
    editor.wait("table.concat(vim.fn.getbufline('refs.bib', 1, '$'), '\\n'):find('Petar', 1, true)")
    bib = editor.buffer_text("refs.bib")
    assert bib.startswith("% typed meanwhile\n" + BIB)
    assert bib.count("Graph Attention Networks") == 1
    assert "Networks attend. \\cite{velickovic2018graph}" in editor.buffer_text("main.tex")


def test_a_paper_is_filled_in_the_newer_text(start_neovim: Any) -> None:
    paper = PAPER.replace("attend.", "attend \\cite<graph attention networks>.")
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    editor.lua(TYPE_MEANWHILE, "main.tex")
    editor.keys(":Citewell fill<CR>")
    editor.wait("_G.meanwhile")
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    editor.wait(
        "table.concat(vim.fn.getbufline('main.tex', 1, '$'), '\\n'):find('{velick', 1, true)"
    )
    filled = paper.replace("<graph attention networks>", "{velickovic2018graph}")
    assert editor.buffer_text("main.tex") == "% typed meanwhile\n" + filled
    assert editor.file_text("refs.bib").count("Graph Attention Networks") == 1
