"""`:Citewell install` makes an environment from what lies beside the plugin, or changes nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[3]
STARTER = REPOSITORY / "corpus_tools" / "starter"
PAPER = "\\documentclass{article}\n\\begin{document}\nSee\n\\bibliography{refs}\n\\end{document}\n"
CLIENT = "(vim.lsp.get_clients({ name = 'citewell', bufnr = 0 })[1] or {})"

# A Python that is every bit the real one; only `pip install` does what the variable PIP_DOES says.
PYTHON = """#!/bin/sh
case " $* " in
  *" -m venv "*)
    for folder; do :; done
    mkdir -p "$folder/bin"
    cp "$0" "$folder/bin/python"
    exit 0;;
  *" pip "*)
    echo "$@" >>"$PIP_LOG"
    if [ "$PIP_DOES" = fail ]; then
      echo "ERROR: Could not find a version that satisfies the requirement numpy" >&2
      exit 1
    fi
    exit 0;;
esac
exec "%s" "$@"
"""


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The plugin as it is published: alone, with a wheel beside it; its folder."""
    plugin = tmp_path / "published" / "citewell.nvim"
    shutil.copytree(
        REPOSITORY / "clients" / "neovim", plugin, ignore=shutil.ignore_patterns("wheel")
    )
    (plugin / "wheel").mkdir()
    (plugin / "wheel" / "citewell-0.1.0-py3-none-any.whl").touch()
    return plugin


@pytest.fixture
def machine(environment: dict[str, str], tmp_path: Path) -> Path:
    """PATH leads to one folder with a shell and a Python; that folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "cp", "mkdir"):
        (programs / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    python = programs / "python3"
    python.write_text(PYTHON % sys.executable)
    python.chmod(0o755)
    environment["PATH"] = str(programs)
    environment["PIP_LOG"] = str(tmp_path / "pip.log")
    return programs


def start(open_neovim: Any, plugin: Path) -> Any:
    init = f"vim.opt.runtimepath:prepend({str(plugin)!r})"
    return open_neovim({"main.tex": PAPER}, init=init, arguments=("main.tex",))


def managed(environment: dict[str, str]) -> Path:
    return Path(environment["XDG_DATA_HOME"]) / "nvim" / "citewell" / "venv"


def test_the_wheel_beside_the_plugin_is_installed_and_serves(
    open_neovim: Any, environment: dict[str, str], machine: Path, beside: Path
) -> None:
    editor = start(open_neovim, beside)
    editor.wait_until_shown("Citewell: the server is missing; run :Citewell install")
    editor.keys(":Citewell install<CR>")
    editor.wait_until_shown("is installed; next: :Citewell library")
    editor.wait(f"{CLIENT}.initialized")
    pip_log = Path(environment["PIP_LOG"]).read_text()
    wheel = beside / "wheel" / "citewell-0.1.0-py3-none-any.whl"
    assert f"citewell @ {wheel.as_uri()}" in pip_log
    assert (managed(environment) / "bin" / "python").is_file()
    assert not managed(environment).with_name("venv.new").exists()
    # The one that was installed is found by the next Neovim, too.
    command = editor.lua("return require('citewell.server').command()")
    assert command[0] == str(managed(environment) / "bin" / "python")


def test_a_failed_installation_leaves_the_server_and_the_environment_alone(
    open_neovim: Any, environment: dict[str, str], machine: Path, beside: Path
) -> None:
    python = managed(environment) / "bin" / "python"
    python.parent.mkdir(parents=True)
    shutil.copy(machine / "python3", python)
    (managed(environment) / "mark").write_text("old")
    environment["PIP_DOES"] = "fail"
    editor = start(open_neovim, beside)
    editor.wait(f"{CLIENT}.initialized")
    client = editor.lua(f"return {CLIENT}.id")
    editor.keys(":Citewell install<CR>")
    editor.wait_until_shown("Citewell: not installed, nothing was changed")
    history = editor.lua("return require('citewell.messages').history()")
    assert "check the connection to the package index, and run :Citewell install again" in history
    assert "Could not find a version that satisfies the requirement numpy" in history
    assert (managed(environment) / "mark").read_text() == "old"
    assert not managed(environment).with_name("venv.new").exists()
    assert editor.lua(f"return {CLIENT}.id") == client


def test_without_a_wheel_or_a_clone_the_help_says_how(
    open_neovim: Any, machine: Path, beside: Path
) -> None:
    shutil.rmtree(beside / "wheel")
    editor = start(open_neovim, beside)
    editor.wait_until_shown("Citewell: the server is missing; see :help citewell-start")
    editor.keys(":Citewell install<CR>")
    editor.wait_for_message("the plugin has no wheel or clone to install from")


def test_in_a_clone_the_clone_is_installed(open_neovim: Any, tmp_path: Path) -> None:
    # A clone that was not packaged, whatever was made in this one.
    clone = tmp_path / "clone"
    plugin = clone / "clients" / "neovim"
    shutil.copytree(
        REPOSITORY / "clients" / "neovim", plugin, ignore=shutil.ignore_patterns("wheel")
    )
    shutil.copy(REPOSITORY / "pyproject.toml", clone)
    editor = open_neovim({}, init=f"vim.opt.runtimepath:prepend({str(plugin)!r})\n")
    requirements = editor.lua("return (require('citewell.install').source())")
    assert requirements == [
        f"citewell @ {clone.as_uri()}",
        f"citewell-starter @ {(clone / 'corpus_tools' / 'starter').as_uri()}",
    ]


def test_the_real_installer_takes_the_real_wheel(
    open_neovim: Any, environment: dict[str, str], beside: Path, tmp_path: Path
) -> None:
    """Built from this checkout, installed by pip with what it needs from the index."""
    wheels = tmp_path / "wheels"
    venv.create(tmp_path / "builder", with_pip=True)
    pip = [str(tmp_path / "builder" / "bin" / "python"), "-m", "pip"]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "-w", str(wheels), str(REPOSITORY), str(STARTER)],
        check=True,
        timeout=600,
    )
    shutil.rmtree(beside / "wheel")
    shutil.copytree(wheels, beside / "wheel")
    editor = start(open_neovim, beside)
    editor.keys(":Citewell install<CR>")
    editor.wait("package.loaded['citewell.messages'] ~= nil", 30)
    limit = 600.0
    editor.wait(
        "require('citewell.messages').history():find('is installed; next: :Citewell library', 1, true)",
        limit,
    )
    editor.wait(f"{CLIENT}.initialized")
