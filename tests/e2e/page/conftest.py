"""The web page in a real Chromium, over a real server with a library that holds hostile records.

A test fails on any message in the console, any error of a script, any violation of the page's policy
and any request to another origin.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
AXE = REPOSITORY / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
INSTALL = "`make test` installs it where it may"
PATIENCE = float(os.environ.get("CITEWELL_TEST_PATIENCE", "120")) * 1000
"""Milliseconds to wait for anything that will happen; long, since other tests may hold the cores."""
PAPERS = sorted((REPOSITORY / "tests" / "fixtures").glob("*papers.jsonl"))
RECORDS = """
window.lists = [];
new MutationObserver(() => {
  const ids = [...document.querySelectorAll("ol.papers > li")].map((one) => one.dataset.id);
  if (JSON.stringify(ids) !== JSON.stringify(window.lists.at(-1))) window.lists.push(ids);
}).observe(document, { childList: true, subtree: true });
"""
"""Records each list of papers that the page showed."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the extra there is nothing to test here."""
    import importlib.util

    return True if importlib.util.find_spec("starlette") is None else None


def hostile_records() -> list[dict[str, Any]]:
    """Records whose text a page might take for markup, or that turns or breaks its lines."""
    texts = {
        "markup": "<img src=x onerror=alert(1)><script>alert(2)</script> zebrafish </h2><b>bold",
        "bidi": "\u202ezebrafish \u2067olleh\u2069 \u202e txet desrever",
        "long": "zebrafish " + "x" * 9_990,
        "template": "${alert(1)} {{alert(2)}} zebrafish javascript:alert(3)",
    }
    return [
        {
            "id": f"evil:{name}",
            "title": text,
            "authors": ["Eve Onerror"],
            "year": 2001,
            "venue": text[:60],
            "abstract": text,
            "keywords": ["striped fish", text[:200]],
            "url": "javascript:alert(4)",
            "kind": "article",
            "source": "hostile",
        }
        for name, text in texts.items()
    ]


@pytest.fixture(scope="package")
def page_env(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose library also holds hostile records."""
    folder = tmp_path_factory.mktemp("page")
    hostile = folder / "hostile.jsonl"
    hostile.write_text("".join(json.dumps(one) + "\n" for one in hostile_records()), "utf-8")
    given = env | {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    add_papers(given, folder, *PAPERS, hostile)
    return given


def add_papers(env: dict[str, str], folder: Path, *files: Path) -> None:
    command = [sys.executable, "-m", "citewell", "library", "add", *map(str, files)]
    subprocess.run(command, env=env, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def add() -> Callable[..., None]:
    """`add(env, folder, *files)`: add papers to a library."""
    return add_papers


@pytest.fixture(scope="package")
def url(page_env: dict[str, str], serving: Any) -> Iterator[str]:
    with serving(page_env) as (address, _):
        yield address


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Ends with the package: its event loop must not run under the tests of another one."""
    pytest.importorskip("playwright", reason=f"no driver of a browser here: {INSTALL}")
    from playwright.sync_api import expect, sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"no Chromium here: {INSTALL}")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


class Seen:
    """What the browser reported that no reader should meet."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.allowed: list[str] = []
        """Parts of messages that a test provokes."""
        self.foreign: list[str] = []

    def watch(self, context: Any, origin: str) -> None:
        context.on("console", lambda one: self.messages.append(f"{one.type}: {one.text}"))
        context.on("weberror", lambda one: self.messages.append(f"error: {one.error}"))
        context.on(
            "dialog", lambda one: (self.messages.append(f"dialog: {one.message}"), one.dismiss())
        )
        context.on("request", lambda one: self._requested(one.url, origin))

    def _requested(self, address: str, origin: str) -> None:
        if not address.startswith((f"{origin}/", "blob:", "data:")):
            self.foreign.append(address)

    @property
    def unexpected(self) -> list[str]:
        return [one for one in self.messages if not any(part in one for part in self.allowed)]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., tuple[Any, Seen]]]:
    """`page, seen = open_page(url, "/?q=x", color_scheme="dark", ...)`: a new window of an author;
    the end of the test checks what the browser reported in it."""
    windows: list[tuple[Any, Seen]] = []

    def opened(origin: str, path: str = "/", **how: Any) -> tuple[Any, Seen]:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "locale": "en-US"} | how
        )
        context.set_default_timeout(PATIENCE)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
        context.add_init_script(RECORDS)
        seen = Seen()
        seen.watch(context, origin)
        windows.append((context, seen))
        page = context.new_page()
        page.goto(origin + path)
        return page, seen

    yield opened
    for context, seen in windows:
        context.close()
        assert seen.unexpected == []
        assert seen.foreign == []


@pytest.fixture
def page(open_page: Any, url: str) -> Any:
    """The first page, in a window of 1280 by 900 pixels."""
    return open_page(url)[0]


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which runs in the page."""
    if not AXE.is_file():
        pytest.skip(f"no axe-core here: {INSTALL}")
    return AXE.read_text(encoding="utf-8")
