"""Running several retrievers at once, each only as long as it may."""

from __future__ import annotations

import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled

logger = logging.getLogger(__name__)

MAX_RUNNING = 4
"""Runs of one retriever at a time. Others wait for their slot, at most as long as the request: so
many clients share the cores, and a retriever that hangs collects no threads."""


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


class _Threads:
    """Daemon threads that are kept for the next job: starting one waits for a turn of the
    scheduler, which on a busy machine is a tenth of what a search may take."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = 0
        self._ended = False
        self._lock = threading.Lock()

    def start(self, job: Callable[[], None]) -> None:
        """Run the job now, on an idle thread or on a new one."""
        with self._lock:
            is_needed = self._idle == 0
            if not is_needed:
                self._idle -= 1
            # Never as an argument: a thread keeps those while it lives, and with it a library.
            self._jobs.put(job)
        if is_needed:
            threading.Thread(target=self._loop, name="citewell-run", daemon=True).start()

    def end(self) -> None:
        """Let idle threads end now, and the others after their job."""
        with self._lock:
            self._ended = True
            for _ in range(self._idle):
                self._jobs.put(None)
            self._idle = 0

    def _loop(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            job = None
            with self._lock:
                if self._ended:
                    return
                self._idle += 1


class Runner:
    """Runs named tasks on threads of their own and answers with what came in time.

    The threads are daemons: a task that hangs loses its own answer but never blocks the process's
    exit. They end with the runner, so that reopening an engine when its library changes leaks none.
    """

    def __init__(self) -> None:
        self._slots: dict[str, threading.BoundedSemaphore] = {}
        self._lock = threading.Lock()
        self._threads = _Threads()
        self.close = weakref.finalize(self, self._threads.end)

    def run(
        self, tasks: Mapping[str, Callable[[Cancel], Any]], seconds: float, cancel: Cancel
    ) -> tuple[dict[str, Any], list[Problem], dict[str, float]]:
        """Results by name, problems of the tasks that failed or were late, and milliseconds.

        Raises `Cancelled` as soon as `cancel` is set.
        """
        own = RunCancel(cancel)
        answers: queue.SimpleQueue[tuple[str, Any, Problem | None, float]] = queue.SimpleQueue()
        problems: list[Problem] = []
        end = time.monotonic() + seconds
        waiting = set(tasks)
        for name, task in tasks.items():
            with self._lock:
                slot = self._slots.setdefault(name, threading.BoundedSemaphore(MAX_RUNNING))
            work = partial(self._work, name, task, own, answers)
            self._threads.start(partial(self._wait_and_work, slot, end, name, work, answers))
        results: dict[str, Any] = {}
        timings: dict[str, float] = {}
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

    @staticmethod
    def _wait_and_work(
        slot: threading.BoundedSemaphore,
        end: float,
        name: str,
        work: Callable[[], None],
        answers: queue.SimpleQueue[tuple[str, Any, Problem | None, float]],
    ) -> None:
        left = max(0.0, end - time.monotonic())
        if not slot.acquire(timeout=left):
            answers.put((name, None, _late(name, left), left * 1e3))
            return
        try:
            work()
        finally:
            slot.release()

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
        answers.put((name, result, problem, (time.perf_counter() - begin) * 1e3))


def _late(name: str, seconds: float) -> Problem:
    return Problem(
        "retriever-late",
        f"The retriever {name!r} did not answer within {seconds * 1e3:.0f} ms.",
        "The other retrievers answered; `retrieval.timeout_ms` sets the limit.",
    )
