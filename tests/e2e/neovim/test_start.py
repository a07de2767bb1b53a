"""The server starts with the first file, however the plugin comes into a Neovim without settings."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[3] / "clients" / "neovim"
PAPER = "\\documentclass{article}\n\\begin{document}\nSee\n\\bibliography{refs}\n\\end{document}\n"
CLIENT = "(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {})"


def package(environment: dict[str, str], kind: str) -> None:
    """Put the plugin where Neovim looks for packages: `start` or `opt`."""
    folder = Path(environment["XDG_DATA_HOME"]) / "nvim" / "site" / "pack" / "papers" / kind
    folder.mkdir(parents=True)
    shutil.copytree(PLUGIN, folder / "citewell")


LAZILY = """
-- As lazy.nvim loads a plugin by file type: at the event, and the event is not repeated for it.
vim.api.nvim_create_autocmd('FileType', { pattern = 'tex', once = true, callback = function()
  vim.cmd.packadd('citewell')
end })
"""
BY_HAND = """
vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = function()
  vim.schedule(function()
    vim.cmd.packadd('citewell')
  end)
end })
"""
# Where the plugin lies, and what stands in init.lua.
WAYS = {
    "runtimepath": ("", f"vim.opt.runtimepath:append({str(PLUGIN)!r})"),
    "pack-start": ("start", ""),
    "pack-opt": ("opt", "vim.cmd.packadd('citewell')"),
    "lazily-by-filetype": ("opt", LAZILY),
    "after-the-file": ("opt", BY_HAND),
}
WITH_SETUP = {
    "runtimepath": "\nrequire('citewell').setup({ limit = 7 })",
    "pack-start": "\nvim.cmd.packadd('citewell')\nrequire('citewell').setup({ limit = 7 })",
    "pack-opt": "\nrequire('citewell').setup({ limit = 7 })",
    "lazily-by-filetype": LAZILY.replace(
        "packadd('citewell')", "packadd('citewell')\n  require('citewell').setup({ limit = 7 })"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_first_file_gets_the_server(
    open_neovim: Any, environment: dict[str, str], programs: Callable[[], Path], way: str
) -> None:
    kind, init = WAYS[way]
    if kind:
        package(environment, kind)
    programs()
    editor = open_neovim({"main.tex": PAPER}, init=init, arguments=("main.tex",))
    editor.wait(f"{CLIENT}.initialized")
    assert editor.lua("return #vim.lsp.get_clients()") == 1
    editor.refuse_prompts()


@pytest.mark.parametrize("way", WITH_SETUP)
def test_setup_counts_for_the_first_file(
    open_neovim: Any, environment: dict[str, str], programs: Callable[[], Path], way: str
) -> None:
    kind, init = WAYS[way]
    if kind:
        package(environment, kind)
    programs()
    more = WITH_SETUP[way]
    init = more if way == "lazily-by-filetype" else init + more
    editor = open_neovim({"main.tex": PAPER}, init=init, arguments=("main.tex",))
    editor.wait(f"{CLIENT}.initialized")
    assert editor.lua("return require('citewell.config').get().limit") == 7
    assert editor.lua("return #vim.lsp.get_clients()") == 1


def test_a_file_without_citations_starts_no_server(
    open_neovim: Any, programs: Callable[[], Path]
) -> None:
    programs()
    editor = open_neovim({"todo.txt": "Nothing\n"}, arguments=("todo.txt",))
    editor.wait("vim.v.vim_did_enter == 1")
    assert not editor.lua("return vim.lsp.is_enabled('citewell')")


def test_turned_off_in_setup_it_does_not_start_with_the_first_file(
    open_neovim: Any, programs: Callable[[], Path]
) -> None:
    programs()
    setup = "require('citewell').setup({ enabled = false })"
    editor = open_neovim({"main.tex": PAPER}, setup, arguments=("main.tex",))
    editor.wait("vim.v.vim_did_enter == 1 and vim.bo.filetype == 'tex'")
    assert not editor.lua("return vim.lsp.is_enabled('citewell')")


def test_the_tags_of_the_help_are_those_that_neovim_writes(
    open_neovim: Any, tmp_path: Path
) -> None:
    shutil.copytree(PLUGIN / "doc", tmp_path / "doc")
    (tmp_path / "doc" / "tags").unlink()
    editor = open_neovim({})
    editor.call("nvim_command", f"helptags {tmp_path / 'doc'}")
    assert (tmp_path / "doc" / "tags").read_bytes() == (PLUGIN / "doc" / "tags").read_bytes()
