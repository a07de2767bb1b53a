"""`:Citewell` in a real Neovim: find, fill, check, status, log, restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fakes.bulk import BulkServer

PAPER = """\\documentclass{article}
\\usepackage{natbib}
\\begin{document}
Attention over the neighbours of a node works well.
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
GAT = "velickovic2018graph"


def on_word(editor: Any, line: int, word: str) -> None:
    text = editor.lua("return vim.fn.getline(...)", line)
    editor.call("nvim_win_set_cursor", 0, [line, text.index(word)])


def test_find_lists_papers_and_cites_the_chosen_one(start_neovim: Any, tmp_path: Path) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.record_choices()
    on_word(editor, 4, "node")
    editor.keys(":Citewell find graph attention networks<CR>")
    editor.wait_for_question("-")
    offered = editor.lua("return _G.offered")
    assert offered[0] == "Veličković et al. 2018 · Graph Attention Networks — ICLR · sure"
    assert len(offered) > 3
    editor.keys("1<CR>")
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    after = PAPER.replace("a node works", f"a node~\\cite{{{GAT}}} works")
    editor.wait("vim.bo.modified")
    assert editor.text() == after
    # The cursor stands on the end of the citation.
    editor.wait("vim.startswith(vim.fn.getline('.'):sub(vim.fn.col('.')), '} works')")
    editor.call("nvim_command", "wall")
    assert (tmp_path / "paper" / "main.tex").read_text(encoding="utf-8") == after
    bib = (tmp_path / "paper" / "refs.bib").read_text(encoding="utf-8")
    assert bib.startswith(BIB)
    assert bib.count(f"@inproceedings{{{GAT},\n") == 1
    # The entry is there now: it is offered first, and as what it is.
    editor.keys(":Citewell find graph attention networks<CR>")
    editor.wait_for_question("-")
    offered = editor.lua("return _G.offered")
    assert offered[0].startswith(
        "Veličković et al. 2018 · Graph Attention Networks — in refs.bib as"
    )
    editor.keys("<CR>")


def test_find_without_words_asks_for_them_and_takes_the_sentence_when_there_are_none(
    start_neovim: Any,
) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.record_choices()
    on_word(editor, 4, "works")
    editor.keys(":Citewell find<CR>")
    assert editor.wait_for_question("@") == "Find a paper (empty: for this sentence): "
    editor.keys("<CR>")
    editor.wait_for_question("-")
    assert "· Graph Attention Networks" in editor.lua("return _G.offered")[0]
    editor.keys("<CR>")
    editor.wait("vim.fn.getcmdtype() == ''")
    assert editor.text() == PAPER


def test_find_in_insert_mode_goes_on_behind_the_citation(start_neovim: Any) -> None:
    notes = "---\nbibliography: refs.bib\n---\n\nGraphs\n"
    setup = "vim.keymap.set('i', '<C-g>f', '<Plug>(citewell-find)')"
    editor = start_neovim({"notes.md": notes, "refs.bib": BIB}, "notes.md", before=setup)
    editor.call("nvim_win_set_cursor", 0, [5, 0])
    editor.keys("A<C-g>f")
    editor.wait_for_question("@")
    editor.keys("graph attention<CR>")
    editor.wait_for_question("-")
    editor.keys("1<CR>")
    editor.wait("vim.api.nvim_get_mode().mode == 'i'")
    editor.type(" are useful.")
    editor.wait(f"vim.fn.getline(5) == 'Graphs [@{GAT}] are useful.'")


def test_find_says_where_it_does_not_serve(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_command", "enew")
    editor.keys(":Citewell find graphs<CR>")
    editor.wait_for_message("not a LaTeX, Markdown or BibTeX file")


def test_fill_writes_every_citation_that_is_sure_and_says_what_is_left(start_neovim: Any) -> None:
    paper = PAPER.replace(
        "works well.",
        "works well \\cite<graph attention networks>. So does \\cite<qqqqq zzzzz xxxxx> \\cite{?}.",
    )
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_command", "Citewell fill")
    summary = "1 of 3 filled; 2 left open: `qqqqq zzzzz xxxxx`, `?` (:copen)"
    editor.wait_for_message(summary)
    assert editor.text() == paper.replace("<graph attention networks>", f"{{{GAT}}}")
    assert f"{{{GAT}," in editor.file_text("refs.bib")
    assert editor.messages().endswith(summary)
    places = editor.lua("return vim.fn.getqflist()")
    assert [
        (one["lnum"], editor.text().splitlines()[3][one["col"] - 1 :][:6]) for one in places
    ] == [
        (4, "\\cite<"),
        (4, "\\cite{"),
    ]
    assert "it has no words that identify a paper" in places[1]["text"]
    editor.keys("u")
    editor.wait("vim.fn.getline(4):find('<graph attention networks>', 1, true)")


WRONG = """@inproceedings{kipf,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas N. and Welling, Max},
  booktitle = {ICLR},
  year = {2012},
}
"""


def test_check_lists_what_is_wrong_also_in_a_bib_that_is_not_open(start_neovim: Any) -> None:
    paper = PAPER.replace("works well", "works well \\cite{kipf,nobody}")
    editor = start_neovim({"main.tex": paper, "refs.bib": WRONG}, "main.tex")
    editor.call("nvim_command", "Citewell check")
    editor.wait("vim.fn.getqflist({ title = 1 }).title == 'Citewell check'")
    entries = editor.lua(
        "return vim.tbl_map(function(item) return ('%s %d %s'):format("
        "vim.fn.bufname(item.bufnr), item.lnum, item.text) end, vim.fn.getqflist())"
    )
    assert any(e.startswith("main.tex 4 ") and "[undefined-key]" in e for e in entries), entries
    assert any(e.startswith("refs.bib 5 ") and "[year-differs]" in e for e in entries), entries
    # From the list to the place, and the quick fix there.
    editor.wait("vim.bo.buftype == 'quickfix'")
    number = next(i for i, e in enumerate(entries, 1) if "[year-differs]" in e)
    editor.call("nvim_command", f"cc {number}")
    editor.wait("vim.fn.expand('%:t') == 'refs.bib'")
    editor.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'citewell' }) > 0")
    editor.lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(action)"
        " return vim.startswith(action.title, 'Use the record\\'s year') end })"
    )
    editor.wait("vim.api.nvim_get_current_line() == '  year = {2017},'")


def test_status_log_and_restart(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_command", "Citewell status")
    editor.wait("vim.fn.bufname():find('citewell://status', 1, true)")
    assert "24 papers in" in editor.text()
    assert editor.text().startswith("server 0.")
    editor.keys("q")
    editor.wait("vim.fn.expand('%:t') == 'main.tex'")
    old = editor.lua("return vim.lsp.get_clients({ name = 'citewell' })[1].id")
    editor.call("nvim_command", "Citewell restart")
    editor.wait(
        "(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {}).initialized and "
        f"vim.lsp.get_clients({{ name = 'citewell', bufnr = 0 }})[1].id ~= {old}"
    )
    assert "ended with" not in editor.messages()
    editor.call("nvim_command", "Citewell log")
    editor.wait("vim.fn.expand('%:t') == 'lsp.log'")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (
            "Citewell ",
            [
                "check",
                "explore",
                "fetch",
                "fill",
                "find",
                "install",
                "library",
                "log",
                "messages",
                "restart",
                "review",
                "status",
            ],
        ),
        ("Citewell fi", ["fill", "find"]),
        ("Citewell check o", ["online"]),
        ("Citewell library s", ["status"]),
    ],
)
def test_the_command_line_completes_subcommands(
    open_neovim: Any, line: str, offered: list[str]
) -> None:
    editor = open_neovim({})
    assert editor.lua("return vim.fn.getcompletion(..., 'cmdline')", line) == offered


def test_wrong_options_are_told_and_the_others_count(open_neovim: Any) -> None:
    editor = open_neovim(
        {}, "require('citewell').setup({ limit = 'ten', pikcer = 'x', picker = 'select' })"
    )
    shown = editor.wait_for_message("unknown option `pikcer`")
    assert "`limit` must be a number" in shown
    found = editor.lua("local c = require('citewell.config').get(); return { c.limit, c.picker }")
    assert found == [20, "select"]


def test_fetch_brings_what_is_asked_for_after_a_question(
    start_neovim: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    server = BulkServer(count=12)
    config = tmp_path / "sources.toml"
    libraries = tmp_path / "libraries"
    config.write_text(
        f'[sources]\nallow = ["crossref"]\nsearch = false\nbase_url = "{server.url}"\n',
        encoding="utf-8",
    )
    environment |= {"CITEWELL_CONFIG": str(config)}
    try:
        editor = start_neovim(
            {"main.tex": PAPER, "refs.bib": BIB},
            "main.tex",
            features=f"library = {{ path = {str(libraries)!r} }}",
        )
        editor.record_choices()
        editor.keys(":Citewell fetch crossref --query trees<CR>")
        editor.wait_for_question("-")
        editor.keys("1<CR>")
        shown = editor.wait_for_message("12 works fetched from crossref")
        assert "12 papers" in shown
    finally:
        server.close()
    assert (libraries / "default" / "CURRENT").exists()


def test_a_paper_of_another_field_is_offered_its_literature_in_one_line(
    start_neovim: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    server = BulkServer(count=60)
    config = tmp_path / "sources.toml"
    config.write_text(f'[sources]\nsearch = false\nbase_url = "{server.url}"\n', encoding="utf-8")
    environment |= {"CITEWELL_CONFIG": str(config)}
    keys = [f"k{i}" for i in range(40, 52)]
    entries = "".join(
        f"@article{{{key}, title={{On the growth of the Tree number {key[1:]}}},\n"
        f"  author={{Alder, Ann}}, year=2010, doi={{10.5555/oa.{key[1:]}}}}}\n"
        for key in keys
    )
    paper = PAPER.replace(
        "\\bibliography", f"Trees grow \\cite{{{','.join(keys)}}}.\n\\bibliography"
    )
    try:
        editor = start_neovim({"main.tex": paper, "refs.bib": entries}, "main.tex")
        shown = editor.wait_for_message("The library holds 0 of the 12 references of main.tex")
        assert ":Citewell fetch paper" in shown
        assert server.requests == []
        editor.keys(":Citewell fetch never<CR>")
        editor.wait(f"table.concat(vim.fn.readfile({str(config)!r})):find('no_offer') ~= nil")
    finally:
        server.close()
    assert server.requests == []


REVIEWED = """\\documentclass{article}
\\begin{document}
Machines compute space \\cite{zuse1969}, as \\cite{zuse1996} says.
\\bibliography{refs}
\\end{document}
"""
LINK = BIB.replace("  year ", "  doi    = {http://dx.doi.org/10.1000/raum},\n  year ")


def test_a_review_is_listed_opened_fixed_silenced_and_made_again(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": REVIEWED, "refs.bib": LINK}, "main.tex")

    def review(code: str) -> bool:
        """Review the paper, and jump to the first finding of a code if there is one."""
        editor.lua("vim.fn.setqflist({}, ' ', { title = 'before' })")
        for command in ("1wincmd w", "buffer main.tex", "Citewell review"):
            editor.call("nvim_command", command)
        editor.wait("vim.fn.getqflist({ title = 1 }).title == 'Citewell review'")
        texts = [one["text"] for one in editor.lua("return vim.fn.getqflist()")]
        at = next((n for n, text in enumerate(texts, 1) if f"[{code}]" in text), 0)
        if at:
            editor.call("nvim_command", f"cc {at}")
        return bool(at)

    def act(title: str, name: str, expected: str) -> None:
        choose = f"function(one) return one.title:find({title!r}, 1, true) ~= nil end"
        editor.lua(f"vim.lsp.buf.code_action({{ apply = true, filter = {choose} }})")
        text = f"table.concat(vim.fn.getbufline('{name}', 1, '$'), '\\n')"
        editor.wait(f"{text}:find({expected!r}, 1, true) ~= nil")
        gone = f"function(one) return one.code ~= {title.rsplit(maxsplit=1)[-1]!r} end"
        editor.wait(f"vim.iter(vim.diagnostic.get()):all({gone})")

    assert review("doi-link")
    assert editor.lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }") == ["refs.bib", 4]
    act("Fix doi-link", "refs.bib", "doi    = {10.1000/raum}")
    assert review("undefined-key")
    act("Silence undefined-key", "main.tex", "% citewell: ignore undefined-key\nMachines")
    assert not review("undefined-key")
    assert review("missing-field")
    act("Silence missing-field", "refs.bib", "% citewell: ignore missing-field\n@book")
    assert not review("missing-field")

    for command in ("1wincmd w", "buffer main.tex", "Citewell review text"):
        editor.call("nvim_command", command)
    editor.wait("vim.fn.bufname():find('citewell://review') ~= nil")
    text = editor.text()
    assert "\nReferences\nrefs.bib:2: " in text
    assert "References: 1 in 1 places" in text
