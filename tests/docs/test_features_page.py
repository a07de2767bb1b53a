"""The page of features names tests that are there, and has a row for each method of the protocol."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from citewell.lsp.server import create_server

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "editors-features.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "|---" not in line]
NAMED = re.compile(r"`((?:unit|e2e|docs|contract|bench)/[\w/.-]+\.py)(?:::(\w+))?[^`]*`")
METHOD = re.compile(r"^\| `(\w+/[\w/]+)` \| `([\w/.]+)::(\w+)` \|$")
# Life, texts and settings have no positions; the client's commands are on the page about editors.
WITHOUT_ROW = re.compile(r"initiali|shutdown|exit|/did|workspace/(executeCommand|diagnostic)")


def test_each_row_names_tests_that_exist() -> None:
    rows = [row for row in ROWS if not row.endswith("| test |")]
    assert len(rows) > 40
    for row in rows:
        named = NAMED.findall(row)
        assert named, row
        for file, function in named:
            path = TESTS / file
            assert path.is_file(), row
            assert not function or f"def {function}(" in path.read_text(encoding="utf-8"), row


def test_each_method_with_positions_has_a_row() -> None:
    methods = {found[1] for row in ROWS if (found := METHOD.match(row))}
    offered = {
        name for name in create_server().protocol.fm.features if not WITHOUT_ROW.search(name)
    }
    assert len(offered) > 15
    # Offered once the client has said what it can do, or sent to one that does not ask.
    assert methods - offered == {
        "textDocument/diagnostic",
        "textDocument/publishDiagnostics",
        "textDocument/formatting",
        "textDocument/rangeFormatting",
    }
    assert offered <= methods


@pytest.mark.parametrize("row", [row for row in ROWS if METHOD.match(row)])
def test_the_test_of_a_method_runs_in_every_encoding(row: str) -> None:
    method = METHOD.match(row)
    assert method is not None
    tree = ast.parse((TESTS / method[2]).read_text(encoding="utf-8"))
    marks = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    (function,) = [
        node
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == method[3]
    ]
    decorators = [ast.unparse(one) for one in function.decorator_list]
    columns = [marks.get(text, text) for text in decorators]
    assert any("'utf-8', 'utf-16', 'utf-32'" in text for text in columns), columns
