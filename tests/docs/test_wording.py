"""Clients, pages and most packages use plain English, and names use the field's terms."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FORBIDDEN_NAMES = frozenset(
    "said told asked teller mourn cure cures unhurried givenup shelf desk turns etiquette linguist "
    "betterlist otherqueries typedwords otherwords".split()
)
"""Names, in lower case and without leading underscores, that do not tell a reader what they hold."""
STORED = {"asked"}
"""An attribute of the events in the history of every user, which a database column is named after."""
IDIOMS = re.compile(
    r"\b(?:told|tells?|cures?|anew|nobody|somebody|said|unsaid|goes on|for ever|one types|"
    r"stands? (?:there|in|at|on|beside|before|behind|side|alone)|speaks? of|gives? up|so many)\b",
    re.IGNORECASE,
)
"""Private idiom and literal translations."""


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository that match, without tests of a client and generated data."""
    names = subprocess.run(
        ["git", "ls-files", *patterns], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [REPOSITORY / name for name in names if not name.startswith("clients/vscode/test/")]


def identifier(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


PYTHON = tracked("server/**/*.py", "corpus_tools/**/*.py", "tests/**/*.py", "scripts/*.py")
CLIENTS = tracked("clients/**/*.ts", "clients/**/*.js", "clients/**/*.mjs", "clients/**/*.lua")
PROSE = [
    *CLIENTS,
    *tracked("corpus_tools/**/*.py", "corpus_tools/**/*.md", "clients/**/*.md", "clients/**/*.txt"),
    *tracked("clients/vscode/package.json", "clients/**/*.tex"),
    *(
        path
        for package in (
            "cli corpus evaluation features http llm mcp model options ranking serving sources tuning "
            "usecases".split()
        )
        for path in tracked(f"server/citewell/{package}/*.py", f"server/citewell/{package}/**/*.py")
    ),
    *tracked("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md"),
]


def defined(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of everything that Python source names itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def code_of(source: str) -> str:
    """TypeScript or Lua source without comments and strings."""
    texts = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`'
    return re.sub(rf"/\*.*?\*/|//[^\n]*|--[^\n]*|{texts}", " ", source, flags=re.DOTALL)


def test_no_python_name_is_private_idiom() -> None:
    found = []
    for path in PYTHON:
        stored = path.is_relative_to(REPOSITORY / "server") or "history" in path.name
        allowed = STORED if stored else set()
        for line, name in defined(path.read_text(encoding="utf-8")):
            if name.strip("_").lower() in FORBIDDEN_NAMES - allowed:
                found.append(f"{identifier(path)}:{line}: {name}")
    assert not found, "name what it holds:\n" + "\n".join(found)


def test_no_name_of_a_client_is_private_idiom() -> None:
    found = []
    for path in CLIENTS:
        # The protocol's own field of a problem.
        allowed = {"asked"} if path.name in ("protocol.ts", "extension.ts") else set()
        words = set(re.findall(r"\w+", code_of(path.read_text(encoding="utf-8")))) - allowed
        found += [
            f"{identifier(path)}: {word}" for word in words if word.lower() in FORBIDDEN_NAMES
        ]
    assert not found, "name what it holds:\n" + "\n".join(found)


def test_no_prose_is_private_idiom() -> None:
    found = [
        f"{identifier(path)}:{number}: {line.strip()}"
        for path in PROSE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if IDIOMS.search(line)
    ]
    assert not found, "say it in plain technical English:\n" + "\n".join(found)


def test_each_kind_of_offence_is_found() -> None:
    names = {name for _, name in defined("def f(told): _asked = 1")}
    assert names == {"f", "told", "_asked"}
    assert code_of('const said = "told"; // asked\n').split() == ["const", "said", "=", ";"]
    assert IDIOMS.search("What stands there is told anew.")
    assert not IDIOMS.search("`x` stands for the target.")
