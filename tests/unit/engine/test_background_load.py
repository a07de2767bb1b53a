"""What loads on a thread is loaded again after a fault of the interpreter, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from citewell.engine.background_load import TRIES, BackgroundLoad
from citewell.engine.retrievers import unexpected
from citewell.model import CitewellError


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    """What raises so often before it loads, and the tries so far."""
    tries: list[int] = []

    def load() -> str:
        tries.append(len(tries))
        if len(tries) <= times:
            raise error
        return "loaded"

    return load, tries


def begun(load: Callable[[], str]) -> BackgroundLoad[str]:
    return BackgroundLoad("vectors", load, lambda error: unexpected("vectors", error))


def test_a_fault_of_the_interpreter_is_tried_again():
    load, tries = failing(TRIES - 1, SystemError("AST constructor recursion depth mismatch"))
    assert begun(load).get() == "loaded"
    assert len(tries) == TRIES


def test_a_fault_that_stays_is_a_problem():
    load, tries = failing(TRIES, SystemError("AST constructor recursion depth mismatch"))
    with pytest.raises(CitewellError, match="cannot be opened"):
        begun(load).get()
    assert len(tries) == TRIES


def test_another_error_is_not_tried_again():
    load, tries = failing(1, ValueError("no vectors"))
    with pytest.raises(CitewellError, match="no vectors"):
        begun(load).get()
    assert len(tries) == 1
