"""No text tells a user to install what cannot be had."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citewell.model.installing import PUBLISHED

REPOSITORY = Path(__file__).parents[2]
INDEX = re.compile(
    r"""(?:pip3?|pipx|uv|uvx|tool)[ ]+(?:install|run|upgrade)(?=[ '"])[^`#\n]*?[ '"]citewell\b(?!/)"""
)
"""A command that fetches Citewell by its name alone, which only a package index resolves."""
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "server").rglob("*.py")),
    *sorted((REPOSITORY / "corpus_tools").rglob("*.py")),
    *(
        path
        for pattern in ("*.md", "package.json", "src/*.ts", "media/walkthrough/*.md")
        for path in sorted((REPOSITORY / "clients" / "vscode").glob(pattern))
    ),
]


@pytest.mark.skipif(PUBLISHED, reason="the package index has Citewell")
def test_no_text_fetches_citewell_from_a_package_index() -> None:
    found = [
        f"{page.relative_to(REPOSITORY)}: {command[0]}"
        for page in PAGES
        if page.name != "installing.py"
        for command in INDEX.finditer(page.read_text(encoding="utf-8"))
    ]
    assert not found, "say how it is installed from a clone, or call `install_command`"


@pytest.mark.parametrize(
    "text",
    ["pip install 'citewell[mcp]'", "uv tool install citewell", "pipx install \"citewell\"",
     "pip install --upgrade citewell"],
)  # fmt: skip
def test_such_a_command_is_found(text: str) -> None:
    assert INDEX.search(text)


@pytest.mark.parametrize(
    "text", ["pip install '.[mcp]'", "pip install '/home/a/citewell[mcp]'", "pip install x"]
)
def test_one_that_names_a_clone_is_not(text: str) -> None:
    assert not INDEX.search(text)
