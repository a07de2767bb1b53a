"""A real Neovim: words are typed, the real popup menu comes up, a paper is accepted, TeX runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAPER = """\\documentclass{article}
\\usepackage{natbib}
\\begin{document}
We translate with attention networks on graphs.
\\bibliographystyle{plainnat}
\\bibliography{refs}
\\end{document}
"""
BIB = """@article{hochreiter97,
  author  = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  title   = {Long Short-Term Memory},
  journal = {Neural Computation},
  year    = {1997},
}
"""


GAT = """
@inproceedings{velickovic2018graph,
  author  = {Veličković, Petar and Cucurull, Guillem and Casanova, Arantxa and Romero, Adriana and Liò, Pietro and Bengio, Yoshua},
  title   = {Graph Attention Networks},
  booktitle= {International Conference on Learning Representations},
  year    = {2018},
  url     = {https://arxiv.org/abs/1710.10903},
}
"""


def menu(editor: Any) -> list[dict[str, Any]]:
    return editor.lua("return vim.fn.complete_info({ 'items', 'pum_visible' }).items")


def test_words_become_a_citation_and_the_paper_compiles(
    start_neovim: Any, tmp_path: Path, missing_tool: Any
) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    editor.type(" See \\cite<graph attention networks>")
    editor.wait("vim.fn.pumvisible() == 1")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    items = menu(editor)
    assert items[0]["abbr"] == "velickovic2018graph"
    assert len(items) > 3
    editor.accept()
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    editor.type(" and \\cite<long short-term memory>")
    editor.wait("(vim.fn.complete_info({ 'items' }).items[1] or {}).abbr == 'hochreiter97'")
    editor.accept()
    editor.wait("vim.fn.pumvisible() == 0")
    editor.type(".")
    editor.keys("<Esc>")
    editor.wait("vim.api.nvim_get_mode().mode == 'n'")
    editor.call("nvim_command", "wall")

    folder = tmp_path / "paper"
    assert (folder / "main.tex").read_bytes() == PAPER.replace(
        "graphs.",
        "graphs. See \\cite{velickovic2018graph} and \\cite{hochreiter97}.",
    ).encode()
    assert (folder / "refs.bib").read_bytes() == (BIB + GAT).encode()
    compile_paper(folder, missing_tool)


CITED = "vim.fn.bufexists('refs.bib') == 1 and vim.bo[vim.fn.bufnr('refs.bib')].modified"


def open_both(editor: Any) -> None:
    """The .bib is open, too: Citewell leaves it to the editor."""
    editor.call("nvim_command", "edit refs.bib")
    editor.wait("#vim.lsp.get_clients({ bufnr = vim.fn.bufnr('refs.bib') }) == 1")
    editor.call("nvim_command", "edit main.tex")


FILLABLE = PAPER.replace("graphs.", "graphs \\cite<graph attention networks>.")


@pytest.mark.parametrize("leave", [":w<CR>:q<CR>", ":wq<CR>", ":x<CR>", "ZZ"])
def test_saving_the_paper_saves_the_bib(start_neovim: Any, tmp_path: Path, leave: str) -> None:
    editor = start_neovim({"main.tex": FILLABLE, "refs.bib": BIB}, "main.tex")
    open_both(editor)
    editor.keys(":Citewell fill<CR>")
    editor.wait(CITED)
    editor.leave(leave)
    assert (tmp_path / "paper" / "refs.bib").read_bytes() == (BIB + GAT).encode()
    assert b"{velickovic2018graph}" in (tmp_path / "paper" / "main.tex").read_bytes()


def test_a_fix_and_a_rename_are_saved_with_the_paper(start_neovim: Any, tmp_path: Path) -> None:
    """A code action and a rename change the .bib as a completion does."""
    paper = PAPER.replace("graphs.", "graphs \\cite{hochreiter97}\\cite{velickovic2018graph}.")
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    open_both(editor)
    bib = tmp_path / "paper" / "refs.bib"
    editor.wait("#vim.diagnostic.get(0) > 0")
    line = paper.splitlines()[3]
    editor.call("nvim_win_set_cursor", 0, [4, line.index("velick")])
    editor.lua(
        """
        vim.lsp.buf.code_action({
          apply = true,
          filter = function(action) return action.title:find('Graph Attention', 1, true) end,
        })
        """
    )
    editor.wait(CITED)
    editor.call("nvim_command", "write")
    assert "Graph Attention Networks" in bib.read_text(encoding="utf-8")
    editor.call("nvim_win_set_cursor", 0, [4, line.index("hochreiter97")])
    editor.lua("vim.lsp.buf.rename('lstm')")
    editor.wait(CITED)
    editor.call("nvim_command", "write")
    assert bib.read_text(encoding="utf-8").startswith("@article{lstm,")


@pytest.mark.parametrize("order", ["before", "after", "on disk"])
def test_a_bib_with_other_changes_is_not_saved_and_one_line_says_so(
    start_neovim: Any, tmp_path: Path, order: str
) -> None:
    editor = start_neovim({"main.tex": FILLABLE, "refs.bib": BIB}, "main.tex")
    open_both(editor)
    bib = tmp_path / "paper" / "refs.bib"
    change = "vim.api.nvim_buf_set_lines(vim.fn.bufadd('refs.bib'), 0, 0, false, { '% mine' })"
    if order == "before":
        editor.lua(change)
    editor.keys(":Citewell fill<CR>")
    editor.wait("vim.api.nvim_buf_get_lines(0, 3, 4, false)[1]:find('{velick', 1, true)")
    editor.wait(CITED)
    if order == "after":
        editor.lua(change)
    if order == "on disk":
        bib.write_text("% Zotero wrote this\n" + BIB, encoding="utf-8")
    kept = bib.read_bytes()
    editor.keys(":w<CR>")
    editor.wait_for_message("refs.bib is not saved")
    assert bib.read_bytes() == kept
    assert editor.lua("return vim.bo[vim.fn.bufnr('refs.bib')].modified") is True
    assert editor.lua("return vim.bo.modified") is False


def test_the_list_comes_back_when_letters_overtake_it(start_neovim: Any) -> None:
    """Neovim by itself asks no more once a letter has closed its menu, until the next space."""
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    editor.type(" See \\cite<graph attention netw", 0.0)
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    places = {
        "see \\cite<gra": True,
        "see \\citep[p. 5]<graph at": True,
        "\\parencite{a, b": True,
        "see [@graph at": True,
        "see [@a; @b": True,
        "\\parencites{a}{b": True,
        "\\textcites[see][]{a}[p. 3]{b": True,
        "as @dev": True,
        "@dev": True,
        "me@dev": False,
        "as @dev says": False,
        "\\cites{a} and {b": False,
        "\\cite{a} and": False,
        "\\cite<a> and": False,
        "[@a] and": False,
        "\\emph{x": False,
        "a < b": False,
    }
    for head, wanted in places.items():
        assert editor.lua("return require('citewell.typing').is_open(...)", head) is wanted, head


def test_a_list_for_fewer_letters_is_asked_for_again(start_neovim: Any) -> None:
    """The first answer of a session is the slowest: letters typed meanwhile belong to the words."""
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.lua(
        """
        local rpc = vim.lsp.get_clients({ name = 'citewell' })[1].rpc
        local request = rpc.request
        rpc.request = function(method, params, callback, replied)
          if method ~= 'textDocument/completion' or _G.release then
            return request(method, params, callback, replied)
          end
          return request(method, params, function(err, result)
            _G.release = function()
              replied(_G.number)
              callback(err, result)
            end
          end, function(number)
            _G.number = number
          end)
        end
        """
    )
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    editor.type(" See \\cite<", 0.0)
    editor.wait("_G.release ~= nil")
    editor.type("velickovic", 0.0)
    editor.wait("vim.api.nvim_get_current_line():find('velickovic') ~= nil")
    editor.lua("_G.release()")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )


@pytest.mark.parametrize("bib", [BIB.rstrip("\n"), "", None])
def test_a_bib_without_a_last_line_end_gets_no_empty_line(
    start_neovim: Any, tmp_path: Path, bib: str | None
) -> None:
    files = {"main.tex": PAPER} if bib is None else {"main.tex": PAPER, "refs.bib": bib}
    editor = start_neovim(files, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    editor.type(" \\cite<velickovic", 0.0)
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    editor.accept()
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    editor.keys("<Esc>")
    editor.call("nvim_command", "silent wall")
    written = (tmp_path / "paper" / "refs.bib").read_text(encoding="utf-8")
    assert written.endswith("},\n}\n")
    assert written.startswith((bib or "@inproceedings") + ("\n\n@inproceedings" if bib else "{"))


def test_no_list_comes_up_over_an_accepted_key(start_neovim: Any) -> None:
    """A key without a closing bracket looks like one that is still being typed."""
    paper = "---\nbibliography: refs.bib\n---\n\nSee\n"
    editor = start_neovim({"paper.md": paper, "refs.bib": BIB}, "paper.md")
    editor.call("nvim_win_set_cursor", 0, [5, 0])
    editor.keys("A")
    editor.type(" @velickovic", 0.0)
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    editor.accept()
    editor.wait("vim.api.nvim_get_current_line() == 'See @velickovic2018graph'")
    editor.lua("vim.defer_fn(function() _G.later = true end, 300)")
    editor.wait("_G.later")
    assert editor.lua("return vim.fn.pumvisible()") == 0
    editor.keys("s")
    editor.wait("vim.fn.pumvisible() == 1")


def code_action(editor: Any, beginning: str) -> None:
    """Do the one action whose title begins so, as an author does who chooses it from the menu."""
    editor.lua(
        """
        local beginning = ...
        vim.lsp.buf.code_action({
          apply = true,
          filter = function(action) return vim.startswith(action.title, beginning) end,
        })
        """,
        beginning,
    )


def test_a_fix_at_words_that_nothing_closes_leaves_the_sentence(start_neovim: Any) -> None:
    rest = " in a sentence that goes on, with p > 0.05 and more."
    paper = PAPER.replace(" on graphs.", rest)
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    column = paper.splitlines()[3].index(rest)
    editor.call("nvim_win_set_cursor", 0, [4, column - 1])
    editor.keys("a")
    editor.type(" \\citep<graph attention")
    editor.keys("<C-e><Esc>")
    editor.wait("vim.api.nvim_get_mode().mode == 'n'")
    code_action(editor, "Cite Veli")
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    editor.wait("vim.api.nvim_get_current_line():find('velickovic2018graph', 1, true)")
    cited = paper.replace(rest, f" \\citep{{velickovic2018graph}}{rest}")
    assert editor.text() == cited


def test_one_goes_from_a_key_to_its_entry_and_renames_it_everywhere(start_neovim: Any) -> None:
    paper = PAPER.replace("graphs.", "graphs \\cite{hochreiter97}.")
    notes = "---\nbibliography: refs.bib\n---\nSee @hochreiter97.\n"
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB, "notes.md": notes}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, paper.splitlines()[3].index("hoch")])
    editor.lua("vim.lsp.buf.definition()")
    editor.wait("vim.fn.expand('%:t') == 'refs.bib'")
    assert editor.call("nvim_win_get_cursor", 0) == [1, len("@article{")]
    editor.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'citewell' }) > 0")
    editor.lua("vim.lsp.buf.rename('lstm')")
    editor.wait("vim.fn.getline(1) == '@article{lstm,'")
    editor.call("nvim_command", "wall")
    folder = Path(editor.lua("return vim.fn.getcwd()"))
    for name, text in (("main.tex", paper), ("refs.bib", BIB), ("notes.md", notes)):
        written = (folder / name).read_text(encoding="utf-8")
        assert written == text.replace("hochreiter97", "lstm"), name


def compile_paper(folder: Path, missing_tool: Any) -> None:
    if not shutil.which("pdflatex") or not shutil.which("bibtex"):
        missing_tool("pdflatex and bibtex are not installed")
    for command in (["pdflatex"], ["bibtex"], ["pdflatex"], ["pdflatex"]):
        options = ["-interaction=nonstopmode"] if command == ["pdflatex"] else []
        done = subprocess.run(
            [*command, *options, "main"],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace")
        if command == ["bibtex"]:
            assert "Warning--I didn't find" not in output
            assert "error" not in output.lower()
    log = (folder / "main.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined" not in log
    assert "Veli" in (folder / "main.bbl").read_text(encoding="utf-8")
    assert (folder / "main.pdf").stat().st_size > 1000


def test_the_entry_for_lspconfig_starts_the_server(open_neovim: Any, tmp_path: Path) -> None:
    """The snippet of the page alone, without the plugin, as nvim-lspconfig would hold it."""
    page = (Path(__file__).parents[3] / "docs" / "editors.md").read_text(encoding="utf-8")
    entry = page.split("### Without the plugin", 1)[1].split("```lua\n", 1)[1].split("```", 1)[0]
    folder = tmp_path / "lspconfig" / "lsp"
    folder.mkdir(parents=True)
    (folder / "citewell.lua").write_text(entry, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "citewell"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m citewell "$@"\n')
    program.chmod(0o755)
    setup = f"""
        vim.g.loaded_citewell = true
        vim.opt.runtimepath = {{ {str(folder.parent)!r}, vim.env.VIMRUNTIME }}
        vim.env.PATH = {str(programs)!r} .. ':' .. vim.env.PATH
        vim.lsp.enable('citewell')
    """
    editor = open_neovim({"main.tex": PAPER, "refs.bib": BIB, "citewell.toml": ""}, setup)
    editor.call("nvim_command", "edit main.tex")
    editor.wait("(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {}).initialized")
    client = "vim.lsp.get_clients({ name = 'citewell' })[1]"
    root = editor.lua(f"return {client}.root_dir")
    assert Path(root).resolve() == (tmp_path / "paper").resolve()
    assert editor.lua("return vim.fn.exists(':Citewell')") == 0
