"""The tree as a list."""

import subprocess
import sys

import msgspec

from citewell.options.tree import Options
from citewell.options.values import describe, settings


def test_every_leaf_of_the_default_tree_is_listed_with_its_value() -> None:
    plain = msgspec.to_builtins(Options())
    listed = {setting.name: setting.default for setting in settings()}

    def leaves(tree: dict[str, object], prefix: str = "") -> dict[str, object]:
        found: dict[str, object] = {}
        for name, value in tree.items():
            if isinstance(value, dict) and prefix + name not in listed:
                found |= leaves(value, f"{prefix}{name}.")
            else:
                found[prefix + name] = value
        return found

    assert listed == leaves(plain)


def test_every_setting_has_help_that_is_a_sentence_and_a_described_type() -> None:
    for setting in settings():
        assert setting.help.endswith("."), setting.name
        assert describe(setting.type)


def test_names_are_distinct_at_the_wire_and_in_the_environment() -> None:
    every = settings()
    assert len({setting.wire for setting in every}) == len(every)
    assert len({setting.environment for setting in every}) == len(every)


def test_the_tree_and_its_loader_import_nothing_heavy() -> None:
    code = "import sys, citewell.options.merge as _; print(*sorted(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"numpy", "click", "rich", "pygls", "lsprotocol", "difflib", "rapidfuzz", "cattrs"}
    assert not heavy & set(out)
