"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re

import pytest

from citewell.model.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_does_what_the_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern(r"(a)(b)?", re.I), re.compile(r"(a)(b)?", re.I)
    text = "Xab A"
    for _ in range(2):
        assert lazy.findall(text) == compiled.findall(text)
        assert [m.span() for m in lazy.finditer(text)] == [
            m.span() for m in compiled.finditer(text)
        ]
        assert lazy.sub("-", text) == compiled.sub("-", text)
        assert lazy.split(text) == compiled.split(text)
        assert lazy.match(text) is None and lazy.fullmatch("AB") is not None
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, 2)


def test_an_error_in_the_text_is_raised_at_the_first_use() -> None:
    lazy = lazy_pattern("(")
    with pytest.raises(re.error):
        lazy.match("a")
