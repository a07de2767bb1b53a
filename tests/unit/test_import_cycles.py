"""No module imports itself by way of others, not even for typing, and not by way of its package.

`lint-imports` keeps the modules beside each other free of cycles; here a package's own `__init__`
counts as a module, too.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def find_cycle(imports: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", ["citewell", "citewell_corpus"])
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    graph = grimp.build_graph(package, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # The root names the Python API for type checkers and imports each name at its first use;
    # modules below it import the version from there.
    imports[package] = set()
    assert len(imports) > 30
    assert find_cycle(imports) == []


def test_a_cycle_is_found() -> None:
    assert set(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})) == {"a", "b", "c"}
