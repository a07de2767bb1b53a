"""Running several retrievers at once, each only as long as it may."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled

logger = logging.getLogger(__name__)

MAX_RUNNING = 4
"""Runs of one retriever at a time; a retriever that hangs must not collect threads."""


class RunCancel(Cancel):
    """Set when the client cancels the request or when this one run is given up."""

    def __init__(self, parent: Cancel) -> None:
        super().__init__()
        self.deadline = parent.deadline
        self._parent = parent

    @property
    def is_set(self) -> bool:
        return self._event.is_set() or self._parent.is_set

    def check(self) -> None:
        if self.is_set:
            raise Cancelled


class Runner:
    """Runs named tasks on threads of their own and answers with what came in time.

    The threads are daemons: a task that hangs costs its own answer, never the process's exit.
    """

    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._lock = threading.Lock()

    def run(
        self, tasks: Mapping[str, Callable[[Cancel], Any]], seconds: float, cancel: Cancel
    ) -> tuple[dict[str, Any], list[Problem], dict[str, float]]:
        """Results by name, problems of the tasks that failed or were late, and milliseconds.

        Raises `Cancelled` as soon as `cancel` is set.
        """
        own = RunCancel(cancel)
        answers: queue.SimpleQueue[tuple[str, Any, Problem | None, float]] = queue.SimpleQueue()
        problems: list[Problem] = []
        waiting: set[str] = set()
        for name, task in tasks.items():
            with self._lock:
                if self._running.get(name, 0) >= MAX_RUNNING:
                    problems.append(_late(name, seconds))
                    continue
                self._running[name] = self._running.get(name, 0) + 1
            waiting.add(name)
            threading.Thread(
                target=self._work, args=(name, task, own, answers), name=f"citewell-{name}",
                daemon=True,
            ).start()  # fmt: skip
        results: dict[str, Any] = {}
        timings: dict[str, float] = {}
        end = time.monotonic() + seconds
        try:
            while waiting:
                cancel.check()
                left = end - time.monotonic()
                if left <= 0:
                    problems += [_late(name, seconds) for name in sorted(waiting)]
                    break
                try:
                    name, result, problem, spent = answers.get(timeout=min(left, 0.02))
                except queue.Empty:
                    continue
                waiting.discard(name)
                timings[name] = spent
                if problem is None:
                    results[name] = result
                else:
                    problems.append(problem)
            cancel.check()
        finally:
            own.set()
        return {name: results[name] for name in tasks if name in results}, problems, timings

    def _work(
        self,
        name: str,
        task: Callable[[Cancel], Any],
        cancel: Cancel,
        answers: queue.SimpleQueue[tuple[str, Any, Problem | None, float]],
    ) -> None:
        begin = time.perf_counter()
        result, problem = None, None
        try:
            result = task(cancel)
        except Cancelled:
            problem = Problem("retriever-late", f"The retriever {name!r} was stopped.")
        except CitewellError as error:
            problem = error.problem
        except Exception as error:
            logger.exception("The retriever %s failed", name)
            problem = Problem(
                "retriever-failed",
                f"The retriever {name!r} failed ({type(error).__name__}: {error}).",
                "The other retrievers answered; `citewell doctor` shows what is wrong.",
            )
        finally:
            with self._lock:
                self._running[name] -= 1
        answers.put((name, result, problem, (time.perf_counter() - begin) * 1e3))


def _late(name: str, seconds: float) -> Problem:
    return Problem(
        "retriever-late",
        f"The retriever {name!r} did not answer within {seconds * 1e3:.0f} ms.",
        "The other retrievers answered; `retrieval.timeout_ms` sets the limit.",
    )
