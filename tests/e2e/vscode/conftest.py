"""One editor process and one browser for all journeys; a window and a folder for each."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
CACHE = REPOSITORY / ".cache"
CORPORA = [
    REPOSITORY.parent / "shared" / "data" / "corpus" / f"{name}.jsonl.zst" for name in ("acl", "ml")
]
SHOTS = REPOSITORY / "test-output" / "vscode"
INSTALL = "scripts/install-vscode.sh says why"


@pytest.fixture(scope="session")
def driver() -> ModuleType:
    """tests/e2e/vscode/driver.py, which no import path leads to."""
    pytest.importorskip("playwright", reason=f"no driver of a browser here: {INSTALL}")
    name = "citewell_vscode_driver"
    spec = spec_from_file_location(name, HERE / "driver.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for path in (module.ENTRY, module.VSIX):
        if not path.exists():
            pytest.skip(f"{path.relative_to(REPOSITORY)} is not there: {INSTALL}")
    if module.browser_program() is None:
        pytest.skip(f"no Chromium here: {INSTALL}")
    return module


@pytest.fixture(scope="package")
def browser(driver: ModuleType) -> Iterator[Any]:
    """Ends with the package: its event loop must not run under the tests of another one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=driver.browser_program(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def extensions(driver: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions in which the .vsix is installed."""
    folder = tmp_path_factory.mktemp("extensions")
    driver.install_extension(driver.VSIX, folder, tmp_path_factory.mktemp("installing"))
    return folder


@pytest.fixture(scope="session")
def library() -> Path:
    """A library of the size of a field: of ../shared, else the starter library."""
    from citewell.options import Options
    from citewell_lab.datasets.cached_library import cached_library

    if all(path.exists() for path in CORPORA):
        return cached_library(CORPORA, CACHE, Options())[0]
    return REPOSITORY / "corpus_tools" / "starter" / "citewell_starter" / "library"


def clean_environment(**more: str) -> dict[str, str]:
    """Without what the person who runs the tests has set for Citewell."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CITEWELL_")}
    return kept | more


@pytest.fixture(scope="package")
def code_environment(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an editor is started with: the server of this environment on its path, the library."""
    folder = tmp_path_factory.mktemp("code-settings")
    (folder / "config.toml").touch()
    return clean_environment(
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        CITEWELL_CONFIG=str(folder / "config.toml"),
        CITEWELL_CACHE=str(folder / "cache"),
        CITEWELL_DATA=str(folder / "data"),
        CITEWELL_LIBRARY_PATH=str(library.parent),
        CITEWELL_LIBRARY_NAME=library.name,
    )


@pytest.fixture(scope="package")
def code(
    driver: ModuleType,
    extensions: Path,
    code_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """The editor."""
    editor = driver.VisualStudioCode(
        tmp_path_factory.mktemp("code"), extensions, code_environment, {}
    )
    yield editor
    editor.close()


@pytest.fixture
def newcomer(
    driver: ModuleType, extensions: Path, tmp_path: Path
) -> Iterator[Callable[..., tuple[Any, Path]]]:
    """`newcomer(settings, python=False)`: an editor whose PATH leads to no server, and to no Python
    unless that is wanted, and the folder of the programs that it leads to."""
    started = []

    def start(settings: dict[str, Any] | None = None, *, python: bool = False) -> tuple[Any, Path]:
        folder = tmp_path / f"code{len(started)}"
        programs = folder / "bin"
        programs.mkdir(parents=True)
        for name in ("sh", "uname", "dirname", "readlink"):
            found = shutil.which(name)
            if found:
                (programs / name).symlink_to(found)
        if python:
            (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        (folder / "config.toml").touch()
        environment = clean_environment(
            PATH=str(programs),
            CITEWELL_CONFIG=str(folder / "config.toml"),
            CITEWELL_CACHE=str(folder / "cache"),
            XDG_DATA_HOME=str(folder / "data"),
        )
        editor = driver.VisualStudioCode(folder / "editor", extensions, environment, settings or {})
        started.append(editor)
        return editor, programs

    yield start
    for each in started:
        each.close()


@pytest.fixture
def window(
    driver: ModuleType, code: Any, browser: Any, request: pytest.FixtureRequest
) -> Iterator[Callable[[Path], Any]]:
    """`window(folder)` opens the folder in a new window, which ends with the test."""
    opened = []

    def open_window(folder: Path, editor: Any = code, beside: Any = None) -> Any:
        found = driver.Window(editor, browser, folder, SHOTS / request.node.name, beside)
        opened.append(found)
        return found

    yield open_window
    for each in reversed(opened):
        each.screenshot("last")
        each.close()


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """`copied(folder)` is a copy of it that may be changed."""

    def copy(folder: Path) -> Path:
        target = tmp_path / "paper"
        shutil.copytree(folder, target, copy_function=shutil.copyfile)
        target.chmod(0o755)
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return target

    return copy
