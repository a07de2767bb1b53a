"""Reads the problem codes out of the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ROOTS = ("server/citewell", "corpus_tools/citewell_corpus", "corpus_tools/citewell_lab")
MAKERS = ("Problem", "BibFault")


@dataclass
class Codes:
    """Every problem code in the source with the places that use it."""

    places: dict[str, list[str]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    """Places where the code is no literal and cannot be followed to one."""


@dataclass
class _Module:
    path: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]

    def function_of(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return node
        return None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.ClassDef):
                return node
        return None


def _modules() -> list[_Module]:
    found = []
    for root in ROOTS:
        for file in sorted((REPOSITORY / root).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            parents = {
                child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
            }
            found.append(_Module(str(file.relative_to(REPOSITORY)), tree, parents))
    return found


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if len(call.args) > position else None


def _texts(node: ast.expr) -> list[str] | None:
    """The literal texts that an expression may be; None if that cannot be told."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Attribute) and node.attr == "code":
        return []  # passed on from another problem, which is read where it is made
    if isinstance(node, ast.IfExp):
        first, second = _texts(node.body), _texts(node.orelse)
        return None if first is None or second is None else first + second
    if isinstance(node, ast.Tuple):
        return _texts(node.elts[0]) if node.elts else None
    if isinstance(node, ast.Dict):
        values = [_texts(value) for value in node.values]
        return None if None in values else [text for value in values for text in value or []]
    if isinstance(node, ast.Subscript):
        return _texts(node.value)
    return None


def _assigned(scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What is assigned to a name in a scope, tuple assignments taken apart."""
    for node in ast.walk(scope):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets: list[ast.expr] = [node.target]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            elif isinstance(target, ast.Tuple):
                for index, part in enumerate(target.elts):
                    if isinstance(part, ast.Name) and part.id == name:
                        whole = isinstance(node.value, ast.Tuple)
                        yield node.value.elts[index] if whole else None  # type: ignore[union-attr]


class _Reader:
    def __init__(self) -> None:
        self.modules = _modules()
        self.codes = Codes()
        self.done: set[tuple[str, str]] = set()

    def read(self) -> Codes:
        for maker in MAKERS:
            self.calls_of(maker, "code", 0, self.modules)
        return self.codes

    def calls_of(self, maker: str, argument: str, position: int, modules: list[_Module]) -> None:
        """Collect the codes that calls of `maker` are given, following parameters upward."""
        if (maker, argument) in self.done:
            return
        self.done.add((maker, argument))
        for module in modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and _name(node) == maker:
                    code = _argument(node, argument, position)
                    if code is not None:
                        self.take(module, node, code)

    def take(self, module: _Module, call: ast.Call, code: ast.expr) -> None:
        place = f"{module.path}:{call.lineno}"
        texts = _texts(code)
        if texts is None and isinstance(code, ast.Name):
            texts = self.follow(module, call, code.id)
        elif texts is None and isinstance(code, ast.Attribute):
            texts = [
                text
                for other in self.modules
                for value in _assigned(other.tree, code.attr)
                if value is not None
                for text in _texts(value) or []
            ]
            texts = texts or None
        if texts is None:
            self.codes.unreadable.append(place)
            return
        for text in texts:
            self.codes.places.setdefault(text, []).append(place)

    def follow(self, module: _Module, call: ast.Call, name: str) -> list[str] | None:
        function = module.function_of(call)
        if function is not None:
            parameters = [*function.args.posonlyargs, *function.args.args]
            names = [parameter.arg for parameter in parameters]
            keyword_only = [parameter.arg for parameter in function.args.kwonlyargs]
            if name in names or name in keyword_only:
                owner = module.class_of(function)
                position = names.index(name) if name in names else 999
                if owner is not None and names[:1] in (["self"], ["cls"]):
                    position -= 1
                maker = owner.name if owner and function.name == "__init__" else function.name
                self.calls_of(maker, name, position, self.modules)
                return []
        for scope in (function, module.tree):
            if scope is None:
                continue
            values = list(_assigned(scope, name))
            if values:
                found = [_texts(value) if value is not None else None for value in values]
                if None not in found:
                    return [text for texts in found for text in texts or []]
        return None


@pytest.fixture(scope="session")
def problem_codes() -> Codes:
    """The codes of all problems that the source can report."""
    return _Reader().read()
