"""The switches of what is offered, and what is left to another tool."""

from __future__ import annotations

from typing import get_args

import pytest

from citewell.lsp.registry import DOES, is_offered, left_diagnostics
from citewell.model.document import Format
from citewell.options.tree import DiagnosticsOptions, Feature, FeatureOptions

SWITCHES = get_args(Feature)


@pytest.mark.parametrize("switch", SWITCHES)
def test_everything_is_on_and_each_switch_turns_it_off(switch: Feature) -> None:
    for kind in Format:
        assert is_offered(FeatureOptions(), switch, kind)
        assert not is_offered(FeatureOptions(switches={switch: False}), switch, kind)


@pytest.mark.parametrize("tool", DOES)
def test_what_the_other_tool_does_is_left_to_it_but_never_in_markdown(tool: str) -> None:
    options = FeatureOptions(coexist=tool)
    assert not is_offered(options, "complete-keys", Format.LATEX)
    for switch in SWITCHES:
        assert is_offered(options, switch, Format.MARKDOWN)
    for switch in ("complete-papers", "hover-placeholders", "code-actions", "semantic-tokens"):
        assert all(is_offered(options, switch, kind) for kind in Format)


def test_a_switch_of_the_author_counts_for_more_than_the_tool() -> None:
    options = FeatureOptions(coexist="texlab", switches={"rename": True, "hover-keys": False})
    assert is_offered(options, "rename", Format.LATEX)
    assert not is_offered(options, "hover-keys", Format.MARKDOWN)


def test_diagnostics_of_the_other_tool_are_off_unless_the_author_named_them() -> None:
    options = FeatureOptions(coexist="texlab")
    plain = DiagnosticsOptions()
    assert left_diagnostics(options, plain, Format.LATEX).severity["undefined-key"] == "off"
    assert left_diagnostics(options, plain, Format.MARKDOWN) is plain
    assert left_diagnostics(FeatureOptions(), plain, Format.LATEX) is plain
    named = DiagnosticsOptions(severity={"undefined": "warning", "year-differs": "hint"})
    found = left_diagnostics(options, named, Format.BIBTEX).severity
    assert "undefined-key" not in found
    assert found["year-differs"] == "hint"
    assert found["unused-entry"] == "off"
