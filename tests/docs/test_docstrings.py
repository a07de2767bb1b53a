"""Docstrings describe what they document, not how it relates to the text above them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = [
    path
    for root in ("server/citewell", "corpus_tools/citewell_corpus", "corpus_tools/citewell_lab")
    for path in sorted((REPOSITORY / root).rglob("*.py"))
]
CLIENT_SOURCES = sorted(
    path
    for pattern in ("vscode/src/*.ts", "vscode/media/*.js", "neovim/**/*.lua")
    for path in (REPOSITORY / "clients").glob(pattern)
)
VAGUE = re.compile(r"The same\b|It is read\b|What (?:[^.:;,]+ )?says?\b")
"""Openings that make a reader look elsewhere for the subject."""
HEADLESS = re.compile(r"(?:What|Of)\b")
"""Openings without a subject: a docstring opens with a noun phrase or a verb."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string that stands alone: docstrings, also those of attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield node.lineno, text.strip()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_docstring_opens_vaguely(path: Path) -> None:
    found = [
        f"{line}: {text.splitlines()[0]}"
        for line, text in docstrings(path.read_text(encoding="utf-8"))
        if VAGUE.match(text)
    ]
    assert not found, "say what it returns"


def test_every_docstring_opens_with_its_subject() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line}: {text.splitlines()[0]}"
        for path in MODULES
        for line, text in docstrings(path.read_text(encoding="utf-8"))
        if HEADLESS.match(text)
    ]
    assert not found, "open with a noun phrase or a verb"


def comments(source: str) -> list[str]:
    """The first line of each documentation comment of TypeScript (`/**`) or Lua (`---`) source."""
    lines = re.findall(r"^[ \t]*(/\*\* ?|---? )(.*)$", source, re.MULTILINE)
    found, inside = [], False
    for mark, text in lines:
        if mark.startswith("/") or not inside:
            found.append(text)
        inside = mark == "--- "
    return found


@pytest.mark.parametrize("path", CLIENT_SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_comment_of_a_client_opens_vaguely(path: Path) -> None:
    assert not [text for text in comments(path.read_text(encoding="utf-8")) if VAGUE.match(text)]


def test_a_comment_of_a_client_is_read() -> None:
    source = "/** The same for one. */\nlet a\n--- What it says.\n--- The same.\nlocal b\n"
    assert [bool(VAGUE.match(text)) for text in comments(source)] == [True, True]


@pytest.mark.parametrize(
    "text", ["The same for many.", "It is read.", "What a key says, folded.", "What they say."]
)
def test_such_an_opening_is_found(text: str) -> None:
    assert VAGUE.match(next(docstrings(f'def f():\n    """{text}"""\n'))[1])


@pytest.mark.parametrize("text", ["The rows of a query.", "What a caller may pass: a path."])
def test_a_plain_opening_is_not(text: str) -> None:
    assert not VAGUE.match(text)
