"""Types beyond those the tree uses today are fitted too, so that it may grow."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from citewell.options.merge import from_wire, load
from citewell.options.values import Setting, WrongValueError, fit, settings


def of(kind: Any, **more: Any) -> Setting:
    return Setting(name="x.y", type=kind, default=None, help="", **more)


def test_floats_take_whole_numbers_and_refuse_infinity() -> None:
    assert fit(of(float), 2) == 2.0
    assert fit(of(float), "0.5", textual=True) == 0.5
    for wrong in (math.inf, math.nan, True, "0.5", 10**400):
        with pytest.raises(WrongValueError):
            fit(of(float), wrong)


def test_tables_and_lists_are_fitted_item_by_item() -> None:
    assert fit(of(dict[str, int]), {"a": 1}) == {"a": 1}
    assert fit(of(dict[str, int]), "a=1, b = 2", textual=True) == {"a": 1, "b": 2}
    assert fit(of(dict[str, int]), '{"a": 1}', textual=True) == {"a": 1}
    with pytest.raises(WrongValueError):
        fit(of(dict[str, int]), "a", textual=True)
    assert fit(of(tuple[int, ...]), "1, 2", textual=True) == (1, 2)
    assert fit(of(tuple[str, ...]), '["a,b", "c"]', textual=True) == ("a,b", "c")
    with pytest.raises(WrongValueError):
        fit(of(dict[str, int]), {"a": "1"})


def test_a_path_in_an_unknown_home_is_refused() -> None:
    with pytest.raises(WrongValueError, match="no such home folder"):
        fit(of(Path), "~nobody-of-this-name/x")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([part for s in settings() for part in (*s.wire.split("."), s.wire)])


@limits(max_examples=40)
@given(st.dictionaries(NAMES | st.text(max_size=6), JSON | st.dictionaries(NAMES, JSON)))
def test_no_editor_settings_raise(wire: dict[str, Any]) -> None:
    loaded = from_wire(wire)
    assert all(problem.code.startswith("settings-") for problem in loaded.problems)


@given(st.dictionaries(st.sampled_from([s.environment for s in settings()]), st.text(max_size=8)))
def test_no_environment_raises(environ: dict[str, str]) -> None:
    load(None, environ)
