"""What a reader of the tests may rely on: they wait for signs, and each assertion can fail."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FOREIGN = ("node_modules", ".node", "__pycache__")
FILES = sorted(path for path in TESTS.rglob("*.py") if not {*FOREIGN} & {*path.parts})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SLEEPS = ("time.sleep", "asyncio.sleep", "anyio.sleep")
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def sleeps_of(tree: ast.AST) -> Iterator[int]:
    """Lines of tests that only let time pass. A loop looks for a sign in between, and a function of
    its own has a name that says what it waits for."""

    def walk(node: ast.AST) -> Iterator[int]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (*LOOPS, *FUNCTIONS)):
                continue
            if isinstance(child, ast.Call) and ast.unparse(child.func) in SLEEPS:
                yield child.lineno
            yield from walk(child)

    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS[:2]) and node.name.startswith("test_"):
            yield from walk(node)


def always_true(test: ast.expr) -> bool:
    """True for an assertion that holds whatever the program does."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts)
        case ast.JoinedStr() | ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(always_true(value) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(always_true(value) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]
        ):
            if ast.dump(left) == ast.dump(right) and not _calls(left):
                return True
            return (
                _is_length(left)
                and ast.unparse(right) == "0"
                and ast.unparse(test).count(">=") == 1
            )
        case ast.Compare(left=left, ops=[ast.Gt()], comparators=[right]):
            return _is_length(left) and ast.unparse(right) == "-1"
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return ast.unparse(kind) == "object"
    return False


def _calls(node: ast.AST) -> bool:
    """Two calls may give two values."""
    return any(isinstance(part, (ast.Call, ast.Await)) for part in ast.walk(node))


def _is_length(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "len"


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Each test module as Python reads it, by its name."""
    return {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in FILES
    }


def test_no_test_lets_time_pass_instead_of_waiting_for_a_sign(trees: dict[str, ast.Module]) -> None:
    """A later answer, a message or an edit that would come after what must not happen."""
    assert [f"{name}:{line}" for name, tree in trees.items() for line in sleeps_of(tree)] == []


def test_every_assertion_can_fail(trees: dict[str, ast.Module]) -> None:
    assert [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and always_true(node.test)
    ] == []


@pytest.mark.parametrize(
    ("test", "true"),
    [
        ("x or True", True),
        ("(x, 'why')", True),
        ("isinstance(x, object)", True),
        ("len(x) >= 0", True),
        ("len(x) > -1", True),
        ("x.y == x.y", True),
        ("x() == x()", False),
        ("len(x) >= 1", False),
        ("x or y", False),
        ("not x", False),
        ("isinstance(x, str)", False),
    ],
)
def test_the_scan_knows_what_cannot_fail(test: str, true: bool) -> None:
    assert always_true(ast.parse(test, mode="eval").body) is true


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("time.sleep(1)", [2]),
        ("await asyncio.sleep(1)", [2]),
        ("while not found: time.sleep(1)", []),
        ("def wait(): time.sleep(1)", []),
        ("if slow: time.sleep(1)", [2]),
    ],
)
def test_the_scan_knows_a_sleep_that_waits_for_nothing(body: str, lines: list[int]) -> None:
    assert list(sleeps_of(ast.parse(f"async def test_x():\n    {body}"))) == lines


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("async def f(): pass\nf()", "was never awaited"),
        ("import warnings; warnings.warn('old', DeprecationWarning)", "DeprecationWarning: old"),
        ("import threading; t = threading.Thread(target=lambda: 1 / 0); t.start()", "ZeroDivision"),
        ("import logging\ntry: 1 / 0\nexcept Exception: logging.exception('no')", "ZeroDivision"),
        ("pass", ""),
    ],
)
def test_a_process_under_test_writes_down_what_python_only_prints(
    tmp_path: Path, code: str, found: str
) -> None:
    env = os.environ | {"TESTS_FAULTS": str(tmp_path)}
    for name in ("citewell", "another"):
        command = [sys.executable, "-c", f"# {name}\n{code}"]
        subprocess.run(command, env=env, check=False, capture_output=True, timeout=60)
    written = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert len(written) == bool(found), "of ours alone"
    assert not found or found in written[0]
