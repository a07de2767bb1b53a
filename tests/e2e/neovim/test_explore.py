"""`:Citewell explore` in a real Neovim with its default settings, and the parts of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAPER = """\\documentclass{article}
\\usepackage{natbib}
\\begin{document}
Attention over the neighbours of a node works well.

Something else is written here.
\\bibliographystyle{plainnat}
\\bibliography{refs}
\\end{document}
"""
BIB = """@book{zuse1969,
  title  = {Rechnender Raum},
  author = {Zuse, Konrad},
  year   = {1969},
}
"""
FILES = {"main.tex": PAPER, "refs.bib": BIB}
LISTED = "vim.bo.filetype == 'citewell-explore' and vim.fn.line('$') > 4"
DONE = "vim.wo.statusline:match('^ %d+ papers') ~= nil"
PAPERS = "vim.tbl_filter(function(l) return l:find(' · ', 1, true) end, vim.fn.getline(1, '$'))"

BEHIND = """
local ns = vim.api.nvim_get_namespaces()['citewell.explore']
local words = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
  for _, part in ipairs(mark[4].virt_text or {}) do
    words[tostring(mark[2] + 1)] = (words[tostring(mark[2] + 1)] or '') .. part[1]
  end
end
return vim.tbl_isempty(words) and vim.empty_dict() or words
"""


def behind(editor: Any) -> dict[int, str]:
    """The words that are shown behind the lines of the list, by line."""
    return {int(line): words for line, words in editor.lua(BEHIND).items()}


def to_paper(editor: Any, words: str) -> int:
    """Put the cursor on the paper whose line holds these words; its line."""
    line = editor.lua("return vim.fn.search('\\\\V' .. ..., 'cw')", words)
    assert line, editor.text()
    return int(line)


def on_word(editor: Any, line: int, word: str) -> None:
    text = editor.lua("return vim.fn.getline(...)", line)
    editor.call("nvim_win_set_cursor", 0, [line, text.index(word)])


def explored(editor: Any, command: str) -> list[str]:
    """Run the command; the lines of the complete list."""
    editor.keys(command)
    editor.wait(LISTED)
    editor.wait(DONE)
    return editor.text().splitlines()


def mark(editor: Any, words: str) -> None:
    """Mark the paper whose line holds these words."""
    line = to_paper(editor, words)
    editor.keys("<Tab>")
    editor.wait(f"vim.startswith(vim.fn.getline({line}), '[x]')")


def test_several_papers_of_the_list_become_one_citation(start_neovim: Any, tmp_path: Path) -> None:
    editor = start_neovim(FILES, "main.tex")
    on_word(editor, 4, "node")
    lines = explored(editor, ":Citewell explore graph attention networks<CR>")
    assert lines[0] == "Question: graph attention networks"
    assert lines[1] == ""
    first = "[ ] Veličković et al. 2018 · Graph Attention Networks — ICLR"
    assert lines[2] == first
    # The cursor is on the first paper.
    assert editor.lua("return vim.fn.line('.')") == 3
    mark(editor, "Graph Attention Networks")
    mark(editor, "Semi-Supervised Classification with Graph")
    assert "2 marked" in editor.lua("return vim.wo.statusline")
    editor.keys("<CR>")
    editor.wait("vim.fn.expand('%:t') == 'main.tex' and vim.bo.modified")
    cited = "a node~\\cite{velickovic2018graph,kipf2017semisupervised} works"
    assert editor.text() == PAPER.replace("a node works", cited)
    editor.wait("vim.startswith(vim.fn.getline('.'):sub(vim.fn.col('.')), '} works')")
    editor.call("nvim_command", "wall")
    bib = (tmp_path / "paper" / "refs.bib").read_text(encoding="utf-8")
    assert bib.startswith(BIB)
    for key in ("velickovic2018graph", "kipf2017semisupervised"):
        assert bib.count(f"{{{key},") == 1
    # One step takes the citation back.
    editor.keys("u")
    editor.wait("not vim.fn.getline(4):find('cite', 1, true)")
    assert editor.text() == PAPER


def test_later_passes_extend_the_list_below_what_is_read(start_neovim: Any) -> None:
    # Each pass of the server is handed on only when the test asks for it.
    editor = start_neovim(FILES, "main.tex")
    editor.lua(
        """
        _G.passes = {}
        local client = vim.lsp.get_clients({ name = 'citewell' })[1]
        local deliver = client.handlers['citewell/explored']
        client.handlers['citewell/explored'] = function(...)
          table.insert(_G.passes, { ... })
        end
        local request = client.request
        client.request = function(self, method, params, handler, bufnr)
          if params.command ~= 'citewell.explore' then
            return request(self, method, params, handler, bufnr)
          end
          return request(self, method, params, function(...)
            local answer = { ... }
            _G.finish = function() handler(unpack(answer)) end
          end, bufnr)
        end
        _G.deliver = function() deliver(unpack(table.remove(_G.passes, 1))) end
        """
    )
    editor.keys(":Citewell explore graph attention networks<CR>")
    editor.wait("_G.finish ~= nil and #_G.passes == 4")
    assert "searching" in editor.lua("return vim.wo.statusline")
    editor.lua("_G.deliver()")
    before = editor.text()
    assert len(editor.lua(f"return {PAPERS}")) == 20
    assert "search: 20 papers, searching" in editor.lua("return vim.wo.statusline")
    editor.keys("5j<Tab>")
    editor.wait("vim.wo.statusline:find('1 marked', 1, true)")
    state = "{ vim.fn.winsaveview(), vim.fn.getline('.') }"
    marked = editor.text()
    assert marked.count("[x]") == 1 and marked != before
    seen = editor.lua(f"return {state}")
    for _ in range(3):
        editor.lua("_G.deliver()")
    editor.lua("_G.finish()")
    assert editor.lua(f"return {state}") == seen
    assert editor.text().startswith(marked)
    assert len(editor.lua(f"return {PAPERS}")) > 20
    assert editor.lua(f"return {DONE}")


def test_kept_and_rejected_papers_make_a_new_list(start_neovim: Any) -> None:
    editor = start_neovim(FILES, "main.tex")
    before = explored(editor, ":Citewell explore graph attention networks<CR>")[2:]
    kept, rejected = before[5][4:], before[0][4:]
    mark(editor, rejected)
    line = to_paper(editor, rejected)
    editor.keys("-")
    editor.wait(f"vim.startswith(vim.fn.getline({line}), '[ ]')")
    assert behind(editor)[line].startswith(" · rejected")
    to_paper(editor, rejected)
    editor.keys("<CR>")
    editor.wait_for_message("this paper is rejected")
    line = to_paper(editor, kept)
    editor.keys("+")
    editor.wait("vim.wo.statusline:find('1 kept, 1 rejected: r searches again', 1, true)")
    assert behind(editor)[line] == " · kept"
    # Nothing moves until the author asks for it.
    assert editor.text().splitlines()[2:] == before
    editor.keys("r")
    editor.wait("vim.fn.getline(2) == '[-] 1 rejected paper'")
    editor.wait(DONE)
    lines = editor.text().splitlines()
    assert lines[0] == "Question: graph attention networks"
    assert lines[3] == f"[ ] {kept}"
    assert behind(editor)[4] == " · kept"
    assert f"[ ] {rejected}" not in lines
    assert "searches again" not in editor.lua("return vim.wo.statusline")
    # The verdict can be taken back, and so can the rejections.
    to_paper(editor, kept)
    editor.keys("+")
    editor.wait("vim.wo.statusline:find('0 kept, 1 rejected', 1, true)")
    editor.lua("vim.fn.cursor(2, 1)")
    editor.keys("<Tab>")
    editor.wait("vim.fn.getline(2) == ''")
    editor.wait(DONE)
    assert editor.text().splitlines()[2:] == before


def test_an_understood_part_of_the_question_can_be_taken_away(start_neovim: Any) -> None:
    editor = start_neovim(FILES, "main.tex")
    lines = explored(editor, ":Citewell explore graph attention by Veličković since 2015<CR>")
    assert lines[1:4] == ["[x] author: Veličković", "[x] year: 2015-", ""]
    mark(editor, "Graph Attention Networks")
    editor.lua("vim.fn.cursor(3, 1)")
    editor.keys("<Tab>")
    editor.wait("vim.fn.getline(1) == 'Question: graph attention by Veličković'")
    editor.wait(DONE)
    lines = editor.text().splitlines()
    assert lines[1:3] == ["[x] author: Veličković", ""]
    # What was marked stays marked, and is listed once.
    assert lines[3].startswith("[x] Veličković et al. 2018 · Graph Attention Networks")
    assert editor.text().count("Graph Attention Networks —") == 1


def test_the_selection_or_the_paragraph_is_the_question(start_neovim: Any) -> None:
    editor = start_neovim(FILES, "main.tex")
    on_word(editor, 4, "Attention")
    lines = explored(editor, "v4e:Citewell explore<CR>")
    assert lines[0] == "Question: Attention over the neighbours"
    editor.keys("q")
    editor.wait("vim.fn.expand('%:t') == 'main.tex'")
    editor.keys("V:Citewell explore<CR>")
    editor.wait(LISTED)
    editor.wait(DONE)
    wanted = "Question: Attention over the neighbours of a node works well."
    assert editor.text().splitlines()[0] == wanted
    editor.keys("q")
    editor.wait("vim.fn.expand('%:t') == 'main.tex'")
    on_word(editor, 4, "node")
    editor.keys(":Citewell explore<CR>")
    assert editor.wait_for_question("@") == "Explore (empty: this paragraph): "
    editor.keys("<CR>")
    editor.wait(LISTED)
    assert editor.text().splitlines()[0] == wanted
    # The paper under the cursor is cited where nothing is marked, at the place that moved with the
    # text above it.
    editor.wait(DONE)
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('main.tex'), 0, 0, false, { '% a line' })")
    editor.keys("<CR>")
    editor.wait("vim.fn.expand('%:t') == 'main.tex' and vim.fn.getline(5):find('cite', 1, true)")
    assert "of a node~\\cite{" in editor.lua("return vim.fn.getline(5)")


def test_a_list_that_is_closed_ends_its_search(start_neovim: Any) -> None:
    editor = start_neovim(FILES, "main.tex")
    editor.lua(
        """
        _G.cancelled = 0
        local client = vim.lsp.get_clients({ name = 'citewell' })[1]
        local request, cancel = client.request, client.cancel_request
        client.request = function(self, method, params, handler, bufnr)
          if params.command ~= 'citewell.explore' then
            return request(self, method, params, handler, bufnr)
          end
          return request(self, method, params, function() end, bufnr)
        end
        client.cancel_request = function(...)
          _G.cancelled = _G.cancelled + 1
          return cancel(...)
        end
        """
    )
    editor.keys(":Citewell explore graph attention networks<CR>")
    editor.wait("vim.bo.filetype == 'citewell-explore'")
    editor.keys("q")
    editor.wait("vim.fn.expand('%:t') == 'main.tex'")
    assert editor.lua("return _G.cancelled") == 1
