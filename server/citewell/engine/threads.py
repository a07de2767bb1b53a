"""Work on threads: several retrievers, each with a time limit, and slow loading.

Python runs one thread at a time. Tasks that wait for a network or for a model have a thread each;
the others share one, since in parallel they would only wait for the interpreter's lock (GIL), and
take longer. A scan in native code needs no lock and runs beside them on the calling thread, which
need not be woken then; so do short tasks, after it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled

logger = logging.getLogger(__name__)

MAX_RUNNING = 4
"""Maximum concurrent runs of one retriever. Others wait for their slot, at most as long as the
request: many clients thus share the cores, and a retriever that hangs accumulates no threads."""
STALL_SECONDS = 0.02
"""Seconds without an answer after which tasks on a shared thread get another one: the first of them
may read from a slow disk, or hang."""


class RunCancel(Cancel):
    """Set when the client cancels the request, when this run is abandoned, or at its end."""

    def __init__(self, parent: Cancel, end: float) -> None:
        super().__init__()
        self.deadline = parent.deadline
        self._parent = parent
        self.end = end

    @property
    def is_set(self) -> bool:
        return self._event.is_set() or self._parent.is_set or time.monotonic() > self.end

    def check(self) -> None:
        if self.is_set:
            raise Cancelled


class _Threads:
    """Daemon threads kept for the next job: starting a thread waits for the scheduler, which on a
    busy machine takes a tenth of a search's budget."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = 0
        self._ended = False
        self._lock = threading.Lock()

    def start(self, job: Callable[[], None]) -> None:
        """Run the job at once, on an idle thread or on a new one."""
        with self._lock:
            is_needed = self._idle == 0
            if not is_needed:
                self._idle -= 1
            # Never as an argument: a thread keeps its arguments alive, and with them a library.
            self._jobs.put(job)
        if is_needed:
            threading.Thread(target=self._loop, name="citewell-run", daemon=True).start()

    def end(self) -> None:
        """End idle threads now, and the others after their job."""
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
    """Runs named tasks on threads and returns the results that arrive in time.

    The threads are daemons: a task that hangs loses its own answer but never blocks the process's
    exit. They end with the runner, so that reopening an engine when its library changes leaks none.
    """

    def __init__(self) -> None:
        self._slots: dict[str, threading.BoundedSemaphore] = {}
        self._lock = threading.Lock()
        self._threads = _Threads()
        self.close = weakref.finalize(self, self._threads.end)

    def run(
        self,
        tasks: Mapping[str, Callable[[Cancel], Any]],
        seconds: float,
        cancel: Cancel,
        *,
        waiting: Collection[str] = (),
        here: Sequence[str] = (),
    ) -> tuple[dict[str, Any], list[Problem], dict[str, float]]:
        """Results by name, problems of the tasks that failed or were late, and milliseconds. The
        tasks in `waiting` have a thread each; those in `here` run on this one, in this order, and
        must end when their `Cancel` is set.

        Raises `Cancelled` as soon as `cancel` is set.
        """
        end = time.monotonic() + seconds
        own = RunCancel(cancel, end)
        answers = _Answers(len(tasks))
        shared: deque[Callable[[], None]] = deque()
        own_jobs: dict[str, Callable[[], None]] = {}
        for name, task in tasks.items():
            with self._lock:
                slot = self._slots.setdefault(name, threading.BoundedSemaphore(MAX_RUNNING))
            job = partial(_work, name, task, slot, own, answers)
            if name in here:
                own_jobs[name] = job
            elif name in waiting:
                self._threads.start(job)
            else:
                shared.append(job)
        if shared:
            self._threads.start(partial(_work_off, shared))
        try:
            for name in here:
                own_jobs[name]()
            while not answers.wait(min(end - time.monotonic(), STALL_SECONDS)):
                cancel.check()
                if time.monotonic() >= end:
                    break
                if shared:
                    self._threads.start(partial(_work_off, shared))
            cancel.check()
        finally:
            own.set()
        found = answers.taken()
        problems = [problem for _, problem, _ in found.values() if problem is not None]
        problems += [_late(name, seconds) for name in sorted(set(tasks) - set(found))]
        timings = {name: spent for name, (_, _, spent) in found.items()}
        results = {
            name: found[name][0] for name in tasks if name in found and found[name][1] is None
        }
        return results, problems, timings


class _Answers:
    """The answers of one run. Only the last one wakes the waiting thread: each wake-up delays the
    tasks that still run, because of the interpreter's lock."""

    def __init__(self, count: int) -> None:
        self._found: dict[str, tuple[Any, Problem | None, float]] = {}
        self._left = count
        self._lock = threading.Lock()
        self._complete = threading.Event()
        if not count:
            self._complete.set()

    def put(self, name: str, result: Any, problem: Problem | None, milliseconds: float) -> None:
        """Add the answer of one task."""
        with self._lock:
            self._found[name] = (result, problem, milliseconds)
            self._left -= 1
            if not self._left:
                self._complete.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the last answer; False when it has not come within this time."""
        return self._complete.wait(max(0.0, seconds))

    def taken(self) -> dict[str, tuple[Any, Problem | None, float]]:
        """Result, problem and milliseconds by name, of those received so far."""
        with self._lock:
            return dict(self._found)


def _work(
    name: str,
    task: Callable[[Cancel], Any],
    slot: threading.BoundedSemaphore,
    cancel: RunCancel,
    answers: _Answers,
) -> None:
    """Answer with the result of the task, once one of its slots is free."""
    left = max(0.0, cancel.end - time.monotonic())
    if not slot.acquire(timeout=left):
        answers.put(name, None, _late(name, left), left * 1e3)
        return
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
        slot.release()
    answers.put(name, result, problem, (time.perf_counter() - begin) * 1e3)


def _work_off(jobs: deque[Callable[[], None]]) -> None:
    """Run the jobs one after another; other threads may take some of them."""
    while True:
        try:
            job = jobs.popleft()
        except IndexError:
            return
        job()


def _late(name: str, seconds: float) -> Problem:
    return Problem(
        "retriever-late",
        f"The retriever {name!r} did not answer within {seconds * 1e3:.0f} ms.",
        "The other retrievers answered; `retrieval.timeout_ms` sets the limit.",
    )


# Slow loading on a thread, while the engine answers without the result.

TRIES = 3
"""Number of attempts to load. Some versions of CPython 3.11 count the recursion depth of `ast` over
all threads, and numpy parses the header of an array with it: two threads that read arrays at once
may get a `SystemError`, although the file is fine."""

T = TypeVar("T")


class BackgroundLoad(Generic[T]):
    """Loads a value once, from its construction. Thread-safe."""

    def __init__(
        self, name: str, load: Callable[[], T], broken: Callable[[Exception], Problem]
    ) -> None:
        """`broken` returns the problem for an exception other than `CitewellError`."""
        self._name = name
        self._load = load
        self._broken = broken
        self._done = threading.Event()
        self.value: T | None = None
        """None while it is being loaded, and after a failure."""
        self.problem: Problem | None = None
        """The problem of loading it, once known."""
        threading.Thread(target=self._run, name=f"citewell-load-{name}", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """True once it is loaded or has failed."""
        return self._done.is_set()

    def wait(self, seconds: float, cancel: Cancel | None = None) -> bool:
        """Wait until it is done, at most `seconds`; return whether it is. Raises `Cancelled`."""
        if cancel is None:
            return self._done.wait(seconds)
        end = Cancel(seconds)
        while not self._done.wait(min(0.02, end.remaining)):
            cancel.check()
            if not end.remaining:
                return False
        return True

    def get(self, cancel: Cancel | None = None) -> T:
        """Wait for the loaded value. Raises `CitewellError` if loading failed, and `Cancelled`."""
        self.wait(threading.TIMEOUT_MAX, cancel)
        if self.problem is not None or self.value is None:
            assert self.problem is not None
            raise CitewellError(self.problem)
        return self.value

    def _tried(self) -> T:
        for _ in range(TRIES - 1):
            try:
                return self._load()
            except SystemError:
                logger.warning("%s is loaded again", self._name, exc_info=True)
        return self._load()

    def _run(self) -> None:
        try:
            self.value = self._tried()
        except CitewellError as error:
            self.problem = error.problem
        except Exception as error:
            logger.exception("%s cannot be loaded", self._name)
            self.problem = self._broken(error)
        finally:
            self._done.set()
