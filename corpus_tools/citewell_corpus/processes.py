"""Runs the steps of a build in several processes, which end with it even if it is killed.

`Progress` is the interface by which long work reports its progress.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Protocol

from citewell.corpus.errors import library_error
from citewell.model.system.child_process import process_pool


class Progress(Protocol):
    """Receives the progress of a build or of an evaluation."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage of `total` steps (0: unknown), which ends the previous one."""
        ...

    def advance(self, steps: int) -> None:
        """Advance the stage by `steps`."""
        ...


class SilentProgress:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def advance(self, steps: int) -> None:
        """Nothing."""


Report = Callable[[int], None]
"""Called with the number of further finished steps."""
Task = Callable[[Report], None]
"""Can be pickled; reports its steps."""

_POLL_SECONDS = 0.5
_steps: Synchronized[int] | None = None
"""In a worker: the number of steps of all workers."""


def available_cores() -> int:
    """The number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def run_tasks(
    tasks: Sequence[Task],
    jobs: int,
    report: Report,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Run the tasks in up to `jobs` processes, and `meanwhile` here; return when all are done.

    Raises what a task raised, and `LibraryError` "build-process-died" if a process ends.
    """
    counter = get_context("spawn").Value("q", 0)
    reported = 0
    with process_pool(jobs, _begin_worker, (counter,)) as pool:
        running: set[Future[None]] = {pool.submit(_run, task) for task in tasks}
        try:
            meanwhile()
            while running:
                done, running = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
                for future in done:
                    future.result()
                count = counter.value
                report(count - reported)
                reported = count
        except BrokenProcessPool:
            message = "A process of the build ended before it was done."
            raise library_error("build-process-died", message) from None


def _begin_worker(counter: Synchronized[int]) -> None:
    global _steps  # noqa: PLW0603 - the state of a worker process
    _steps = counter


def _run(task: Task) -> None:
    task(partial(_add, _steps))


def _add(total: Synchronized[int] | None, count: int) -> None:
    if total is not None:
        with total.get_lock():
            total.value += count
