"""Which thread a task runs on, and what one that waits, hangs or is late costs the others. What
loads on a thread is loaded again after a fault of the interpreter, and only then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from citewell.engine.retrievers import unexpected
from citewell.engine.threads import TRIES, BackgroundLoad, Runner
from citewell.model import CitewellError
from citewell.model.cancel import Cancel, Cancelled

LONG = 60.0
"""Seconds; no test waits for them."""


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


def thread_of(cancel: Cancel) -> int:
    return threading.get_ident()


def test_a_scan_runs_on_the_calling_thread_and_a_task_that_waits_on_its_own(
    runner: Runner,
) -> None:
    met = threading.Barrier(3, timeout=LONG)

    def meet(cancel: Cancel) -> int:
        met.wait()  # all three are there at once
        return threading.get_ident()

    tasks: dict[str, Callable[[Cancel], Any]] = {
        "scan": meet, "network": meet, "words": meet, "titles": thread_of,
    }  # fmt: skip
    results, problems, _ = runner.run(tasks, LONG, Cancel(), waiting={"network"}, here=["scan"])
    assert not problems and list(results) == list(tasks)
    assert results["scan"] == threading.get_ident()
    assert len({results[name] for name in ("scan", "network", "words")}) == 3


def test_short_tasks_follow_the_scan_on_the_calling_thread(runner: Runner) -> None:
    order: list[str] = []

    def task(name: str) -> Callable[[Cancel], int]:
        def work(cancel: Cancel) -> int:
            order.append(name)
            return threading.get_ident()

        return work

    tasks = {name: task(name) for name in ("titles", "words", "scan")}
    results, problems, _ = runner.run(tasks, LONG, Cancel(), here=["scan", "titles"])
    assert not problems and list(results) == list(tasks)
    own = threading.get_ident()
    assert results["scan"] == results["titles"] == own != results["words"]
    assert order.index("scan") < order.index("titles")


def test_tasks_behind_one_that_stalls_are_answered_by_another_thread(runner: Runner) -> None:
    behind = threading.Event()

    def stalls(cancel: Cancel) -> bool:
        return behind.wait(LONG)

    def ends(cancel: Cancel) -> bool:
        behind.set()
        return True

    results, problems, _ = runner.run({"stalls": stalls, "ends": ends}, LONG, Cancel())
    assert results == {"stalls": True, "ends": True} and not problems


def test_one_that_hangs_costs_its_own_answer_only(runner: Runner) -> None:
    let_go = threading.Event()
    tasks: dict[str, Callable[[Cancel], Any]] = {
        "hangs": lambda cancel: let_go.wait(LONG), "answers": lambda cancel: 1,
    }  # fmt: skip
    results, problems, timings = runner.run(tasks, 0.2, Cancel())
    assert results == {"answers": 1} and set(timings) == {"answers"}
    assert [problem.code for problem in problems] == ["retriever-late"]
    assert "'hangs'" in problems[0].message
    let_go.set()


def test_a_scan_ends_when_its_time_is_over(runner: Runner) -> None:
    def scan(cancel: Cancel) -> None:
        while True:
            cancel.check()
            time.sleep(0.001)

    tasks: dict[str, Callable[[Cancel], Any]] = {"scan": scan, "words": lambda cancel: 1}
    results, problems, _ = runner.run(tasks, 0.05, Cancel(), here=["scan"])
    assert results == {"words": 1}
    assert [problem.code for problem in problems] == ["retriever-late"]


def test_a_run_whose_client_gave_up_ends_at_once(runner: Runner) -> None:
    cancel = Cancel()

    def gives_up(own: Cancel) -> None:
        cancel.set()

    let_go = threading.Event()
    with pytest.raises(Cancelled):
        tasks = {"gives up": gives_up, "hangs": lambda own: let_go.wait(LONG)}
        runner.run(tasks, LONG, cancel)
    let_go.set()


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
