"""Beside another language server nothing is there twice, and what the other does is its own."""

from __future__ import annotations

import sys
from typing import Any

PAPER = """\\documentclass{article}
\\begin{document}
See \\cite{zuse1969} and \\cite{nobody}.
\\bibliography{refs}
\\end{document}
"""
NOTES = "---\nbibliography: refs.bib\n---\n\nSee @zuse1969.\n"
BIB = "@book{zuse1969,\n  title  = {Rechnender Raum},\n  author = {Zuse, Konrad},\n}\n"
FILES = {"main.tex": PAPER, "refs.bib": BIB, "notes.md": NOTES, "citewell.toml": ""}

# A server that does what texlab does with keys, and says of each answer that it is its own.
OTHER = """
from lsprotocol import types
from pygls.lsp.server import LanguageServer
server = LanguageServer("other", "1")

@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params):
    return types.Hover(contents="the other server's card")

@server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
def prepare(params):
    place = types.Position(2, 10)
    return types.PrepareRenamePlaceholder(
        range=types.Range(place, types.Position(2, 18)), placeholder="zuse1969")

@server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
def rename(params):
    place = types.Range(types.Position(2, 10), types.Position(2, 18))
    return types.WorkspaceEdit(changes={
        params.text_document.uri: [types.TextEdit(range=place, new_text="other-renamed")]})

server.start_io()
"""
CLIENTS = (
    "#vim.tbl_filter(function(c) return c.initialized end, vim.lsp.get_clients({ bufnr = 0 }))"
)


def start(start_neovim: Any, coexist: str) -> Any:
    other = f"""
        vim.lsp.config('other', {{
          cmd = {{ {sys.executable!r}, '-P', '-c', [[{OTHER}]] }}, filetypes = {{ 'tex' }},
        }})
    """
    settings = f"features = {{ coexist = {coexist!r} }}"
    editor = start_neovim(FILES, "main.tex", before=other, features=settings)
    # The other one comes second, so that Neovim asks Citewell first wherever it asks one alone.
    editor.lua("vim.lsp.enable('other')")
    editor.wait(f"{CLIENTS} == 2")
    editor.call("nvim_win_set_cursor", 0, [3, 12])
    return editor


def supports(editor: Any, method: str) -> bool:
    client = "vim.lsp.get_clients({ bufnr = 0, name = 'citewell' })[1]"
    return bool(editor.lua(f"return {client}:supports_method(..., 0)", f"textDocument/{method}"))


def test_a_rename_in_latex_is_the_other_servers_and_in_markdown_ours(start_neovim: Any) -> None:
    editor = start(start_neovim, "texlab")
    editor.lua("vim.lsp.buf.rename('raum')")
    editor.wait("vim.fn.getline(3):find('other-renamed', 1, true)")
    assert editor.lua("return vim.fn.getbufvar('refs.bib', '&modified')") in ("", 0)
    editor.call("nvim_command", "edit! notes.md")
    editor.wait(f"{CLIENTS} == 1")
    editor.call("nvim_win_set_cursor", 0, [5, 6])
    editor.lua("vim.lsp.buf.rename('raum')")
    editor.wait("vim.fn.getline(5) == 'See @raum.'")


def test_a_card_of_a_key_is_shown_once(start_neovim: Any) -> None:
    editor = start(start_neovim, "texlab")
    editor.lua("vim.lsp.buf.hover()")
    shown = editor.wait_until_shown("the other server's card")
    assert "Rechnender" not in shown
    for method in ("definition", "references", "documentHighlight", "documentLink"):
        editor.lua(
            "_G.answer = nil; vim.lsp.get_clients({ bufnr = 0, name = 'citewell' })[1]:request(..., "
            "vim.tbl_extend('force', vim.lsp.util.make_position_params(0, 'utf-8'), "
            "{ context = { includeDeclaration = true } }), "
            "function(_, result) _G.answer = { result or 0 } end)"
            if supports(editor, method)
            else "_G.answer = { 0 }",
            f"textDocument/{method}",
        )
        editor.wait("_G.answer and _G.answer[1] == 0")
    codes = "vim.tbl_map(function(d) return d.code end, vim.diagnostic.get(0))"
    assert "undefined-key" not in editor.lua(f"return {codes}")


def test_placeholders_are_completed_beside_the_other_server(start_neovim: Any) -> None:
    editor = start(start_neovim, "texlab")
    editor.keys("3GA")
    editor.type(" \\cite<graph attention networks")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
