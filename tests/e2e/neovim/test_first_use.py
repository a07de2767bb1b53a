"""From a machine with only the editor to a first citation, and what is said on the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell import __version__

PAPERS = Path(__file__).parents[2] / "fixtures" / "papers.jsonl"
PAPER = "\\documentclass{article}\n\\begin{document}\nSee\n\\bibliography{refs}\n\\end{document}\n"


@pytest.fixture
def bare_machine(environment: dict[str, str], tmp_path: Path) -> Path:
    """PATH leads to one folder, with a shell and no Citewell, Python, uv or pipx; that folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    environment["PATH"] = str(programs)
    environment["CITEWELL_LIBRARY_PATH"] = str(tmp_path / "libraries")
    return programs


def install_server(bin_folder: Path) -> None:
    """What `uv tool install` leaves behind: a program in a folder that need not be on PATH."""
    bin_folder.mkdir(parents=True, exist_ok=True)
    program = bin_folder / "citewell"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m citewell "$@"\n')
    program.chmod(0o755)


def test_from_only_the_editor_to_a_first_citation_in_five_steps(
    open_neovim: Any, bare_machine: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    # Step 1, the plugin, is what `open_neovim` does: a folder on the runtime path, no setup().
    editor = open_neovim({"main.tex": PAPER})
    editor.call("nvim_command", "edit main.tex")
    # No Python either: uv, the cure, brings one.
    editor.wait_until_shown("Citewell: the server is missing; install uv, then :Citewell install")

    # Step 2: an installer of the author's choice; `test_install.py` has the other one.
    install_server(Path(environment["HOME"]) / ".local" / "bin")
    editor.call("nvim_command", "Citewell restart")
    editor.wait("(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {}).initialized")

    # Without a library the first placeholder says what to do.
    editor.keys("3GA")
    editor.type(" \\cite<graph attention networks>")
    shown = editor.wait_for_message("No library in this folder")
    assert ":Citewell library" in shown
    editor.keys("<Esc>")

    # Step 3: the library. The starter has 410,000 works; a file of one's own is quicker here.
    editor.keys(":Citewell library<CR>")
    editor.wait_for_question("-")
    editor.keys("2<CR>")
    assert editor.wait_for_question("@") == "File or folder: "
    editor.keys(f"{PAPERS}<CR>")
    editor.wait_for_message("24 papers")

    # Steps 4 and 5: type (again), and accept.
    editor.keys("3GA")
    editor.keys("<BS>")
    editor.type(">")
    editor.wait(
        "(vim.fn.complete_info({ 'items' }).items[1] or {}).menu == 'Veličković et al. 2018 · Graph Attention Networks · ICLR'"
    )
    editor.accept()
    editor.wait("vim.fn.getline(3) == 'See \\\\cite{velickovic2018graph}'")
    editor.wait_for_file("refs.bib", "velickovic2018graph")
    assert "@inproceedings{velickovic2018graph," in editor.file_text("refs.bib")


def test_commands_say_the_same_instead_of_failing(open_neovim: Any, bare_machine: Path) -> None:
    editor = open_neovim({"main.tex": PAPER}, arguments=("main.tex",))
    shown = "select(2, require('citewell.messages').history():gsub('the server is missing', ''))"
    editor.wait(f"{shown} == 1")
    commands = ("find graphs", "fill", "check", "status", "library status", "restart")
    for number, command in enumerate(commands, start=2):
        editor.keys(f":Citewell {command}<CR>")
        editor.wait(f"{shown} == {number}")
    editor.wait_until_shown("Citewell: the server is missing; install uv, then :Citewell install")


def test_a_wrong_cmd_is_named(open_neovim: Any, bare_machine: Path) -> None:
    editor = open_neovim({"main.tex": PAPER}, "require('citewell').setup({ cmd = { '/no/such' } })")
    editor.call("nvim_command", "edit main.tex")
    editor.wait_for_message("`cmd` names `/no/such`, which is not a program")


def test_a_server_whose_python_is_gone_is_told(open_neovim: Any, bare_machine: Path) -> None:
    program = bare_machine / "citewell"
    program.write_text("#!/bin/sh\necho 'no module named citewell' >&2\nexit 3\n")
    program.chmod(0o755)
    editor = open_neovim({"main.tex": PAPER})
    editor.call("nvim_command", "edit main.tex")
    editor.wait_until_shown("Citewell: the server does not start (code 3): :checkhealth citewell")
    editor.call("nvim_command", "checkhealth citewell")
    report = editor.text()
    assert "does not start: no module named citewell" in report
    assert "its Python may have been removed: " in report


def old_server() -> str:
    """The real server, which says that it is older than the plugin wants."""
    code = "import citewell; citewell.__version__ = '0.0.1'; import sys; sys.argv[1:] = ['lsp']"
    return f"{{ {sys.executable!r}, '-P', '-c', [[{code}; import citewell.cli; citewell.cli.main()]] }}"


def test_an_old_server_is_told_with_the_way_to_upgrade(open_neovim: Any) -> None:
    setup = f"require('citewell').setup({{ cmd = {old_server()} }})"
    editor = open_neovim({"main.tex": PAPER}, setup)
    editor.call("nvim_command", "edit main.tex")
    editor.wait_until_shown("Citewell: server 0.0.1 is older than 0.1.0: :Citewell install")


def test_checkhealth_with_a_server_and_no_library_names_the_cure(
    start_neovim: Any, tmp_path: Path
) -> None:
    more = f"settings = {{ library = {{ path = {str(tmp_path / 'none')!r} }} }},"
    editor = start_neovim({"main.tex": PAPER}, "main.tex", more=more)
    editor.call("nvim_command", "checkhealth citewell")
    report = editor.text()
    assert f"server {__version__}" in report
    assert "WARNING" in report
    assert "No library in this folder" in report
    assert ":Citewell library lists the starter library" in report
    assert "completion: Neovim's built-in" in report
    assert "picker: select" in report


def old_neovim() -> str | None:
    """A Neovim before 0.11, as Debian 12 has it."""
    for place in ("/usr/bin/nvim", "/usr/local/bin/nvim"):
        if Path(place).exists():
            shown = subprocess.run([place, "--version"], capture_output=True, text=True, check=True)
            version = shown.stdout.split()[1].removeprefix("v").split("-")[0].split(".")
            if (0, 7) <= (int(version[0]), int(version[1])) < (0, 11):
                return place
    return None


def test_a_neovim_that_is_too_old_is_told_so_and_nothing_fails(open_neovim: Any) -> None:
    program = old_neovim()
    if program is None:
        pytest.skip("no Neovim before 0.11 is installed (Debian 12: apt install neovim)")
    editor = open_neovim(
        {"main.tex": PAPER}, "require('citewell').setup({ limit = 10 })", Path(program)
    )
    shown = editor.lua("return vim.fn.execute('messages')")
    assert "Citewell needs Neovim 0.11; this is 0." in shown
    assert "Error" not in shown
    for command in ("edit main.tex", "Citewell find graphs", "Citewell", "checkhealth citewell"):
        editor.call("nvim_command", command)
    assert "Neovim 0.11 or newer is required" in editor.text()
    shown = editor.lua("return vim.fn.execute('messages')")
    assert "E5108" not in shown
    editor.call("nvim_command", "runtime plugin/citewell.lua")
    assert ":help" not in shown or "citewell-old" in shown


def test_the_plugin_does_nothing_when_it_is_turned_off(open_neovim: Any) -> None:
    editor = open_neovim({"main.tex": PAPER}, "vim.g.citewell = { enabled = false }")
    editor.call("nvim_command", "edit main.tex")
    assert editor.lua("return #vim.lsp.get_clients()") == 0
    assert editor.messages() == ""
    assert os.sep in editor.lua(
        "return vim.api.nvim_get_runtime_file('lsp/citewell.lua', false)[1]"
    )
