"""Code, clients and pages use plain English, and names use the field's terms."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FORBIDDEN_NAMES = frozenset(
    "said told asked teller mourn cure cures unhurried givenup shelf desk turns etiquette linguist "
    "betterlist otherqueries typedwords otherwords circle remarks paper_commands edited_text "
    "find_paper rereading zoteroshelf".split()
)
"""Names, in lower case and without leading underscores, that do not show what they hold."""
FORBIDDEN_PARTS = frozenset(
    "said told tell tells asked heard anew nobody somebody cure cures shelf desk noted".split()
)
"""Words, separated by underscores or capitals, that no name of a package contains."""
STORED = {"asked"}
"""An attribute of the events in the history of every user, which a database column is named after."""
HISTORY = ("server/citewell/model/feedback.py", "server/citewell/engine/history.py")
WORD_LISTS = {"server/citewell/retrieval/query_grammar/words.py"}
"""English words that authors type."""
IDIOMS = re.compile(
    r"(?<!\.)\b(?:told|tells?|cures?|anew|nobody|somebody|said|unsaid|goes on|for ever|one types|"
    r"stands? (?:there|in|at|on|beside|before|behind|side|alone)|speaks? of|gives? up|so many|"
    r"counts? for nothing|unhurried|what you type decides|comes first always|letter to the new list|"
    r"fields that is none|give yourself|another server than|reference to be checked|"
    r"was called wrongly|is no file)\b",
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
    *(path for path in tracked("server/**/*.py") if identifier(path) not in WORD_LISTS),
    *tracked("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md"),
    *tracked("action.yml", ".pre-commit-hooks.yaml", "server/**/*.md"),
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


def parts(name: str) -> set[str]:
    """The words of a name, in lower case."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def code_of(source: str) -> str:
    """TypeScript or Lua source without comments and strings."""
    texts = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`'
    return re.sub(rf"/\*.*?\*/|//[^\n]*|--[^\n]*|{texts}", " ", source, flags=re.DOTALL)


def test_no_python_name_is_private_idiom() -> None:
    found = []
    for path in PYTHON:
        is_stored = identifier(path) in HISTORY or "test_history" in path.name
        allowed = STORED if is_stored else set()
        is_test = path.is_relative_to(REPOSITORY / "tests")
        for line, name in defined(path.read_text(encoding="utf-8")):
            offences = FORBIDDEN_NAMES & {name.strip("_").lower()}
            if not is_test:
                offences |= FORBIDDEN_PARTS & parts(name)
            if offences - allowed:
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
    assert (
        parts("_tellDropped") & FORBIDDEN_PARTS == parts("tell_all") & FORBIDDEN_PARTS == {"tell"}
    )
    assert code_of('const said = "told"; // asked\n').split() == ["const", "said", "=", ";"]
    assert IDIOMS.search("What stands there is told anew.")
    assert not IDIOMS.search("`x` stands for the target.")
