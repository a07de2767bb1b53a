"""Print how much there is to read: `python scripts/size.py`."""

import ast
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SERVER = REPOSITORY / "server/citewell"
TOOLS = (
    REPOSITORY / "corpus_tools/citewell_corpus",
    REPOSITORY / "corpus_tools/citewell_lab",
)
SMALL = 60
"""A module with fewer lines is small."""


def modules(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def class_names(paths: list[Path]) -> Counter[str]:
    """How often each name of a class occurs."""
    return Counter(
        node.name
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )


def figures() -> dict[str, int]:
    """The size of the code, by what is counted."""
    server, tools = modules(SERVER), modules(*TOOLS)
    every = [path for path in server + tools if path.name != "__init__.py"]
    folders = Counter(path.parent for path in every)
    return {
        "server: lines": sum(map(lines_of, server)),
        "server: files": len(server),
        "corpus tools and lab: lines": sum(map(lines_of, tools)),
        "corpus tools and lab: files": len(tools),
        f"files with fewer than {SMALL} lines": sum(lines_of(path) < SMALL for path in every),
        "class names that occur more than once": sum(
            count > 1 for count in class_names(server + tools).values()
        ),
        "most files in one folder": max(folders.values()),
    }


if __name__ == "__main__":
    for name, number in figures().items():
        print(f"{number:>8,}  {name}")
