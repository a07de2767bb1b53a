"""Cancellation and pauses of long work: asked for between its steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818 - nothing is wrong when it is raised
    """The client gave up on the request; nothing is shown for it."""


class Cancel:
    """Set by the client's cancel or by a deadline; cheap to ask. Safe across threads."""

    def __init__(self, seconds: float | None = None) -> None:
        self._event = threading.Event()
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def set(self) -> None:
        """Ask whatever works on this request to stop."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """True once the client cancelled (a passed deadline does not count)."""
        return self._event.is_set()

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; infinity without one; never negative."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `Cancelled` if the client cancelled."""
        if self._event.is_set():
            raise Cancelled


# Progress and cancellation of long reads.
#
# Whoever reads a large file says so with `reading(what, total)` and calls what `stepper()` gives
# at each of its steps. On a thread that was set up with `watch_this_thread` the steps are
# counted, and may end the reading with `ReadCancelled`; on every other thread nothing happens, at
# no cost.


class ReadCancelled(Exception):  # noqa: N818 - the author wished it
    """The author does not want to wait for what is being read."""


class Watch(Protocol):
    """Sees what a thread reads. Called on that thread."""

    def begin(self, what: str, total: int, done: int) -> None:
        """Something is read in `total` steps, of which `done` are behind already."""
        ...

    def step(self) -> None:
        """One more. May raise `ReadCancelled`."""
        ...

    def end(self) -> None:
        """Close the progress: the file was read, or its reading was cancelled."""
        ...


class _Thread(threading.local):
    watch: Watch | None = None
    pause: Callable[[], None] | None = None


_thread = _Thread()


def watch_this_thread(watch: Watch | None) -> None:
    """Have `watch` see what this thread reads from now on."""
    _thread.watch = watch


@contextmanager
def reading(what: str, total: int, done: int = 0) -> Iterator[None]:
    """Something long is read within."""
    watch = _thread.watch
    if watch is None:
        yield
        return
    watch.begin(what, total, done)
    try:
        yield
    finally:
        watch.end()


def stepper() -> Callable[[], None]:
    """To be called at each step."""
    return _nothing if _thread.watch is None else _thread.watch.step


def _nothing() -> None:
    """Reports nothing."""


def was_interrupted(error: BaseException | None) -> bool:
    """True for what a module makes of Ctrl+C in the middle of its import."""
    for _ in range(20):
        if error is None or isinstance(error, KeyboardInterrupt):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


# Long background loops that pause while a request is pending.
#
# Threads of one process take turns at the interpreter, so that a walk over twenty thousand entries
# would slow every answer meanwhile. Such a walk iterates over `cooperative(entries)`: on a thread
# that was set up with `give_way_on_this_thread` it pauses between two entries for as long as that
# function asks; on every other thread it is the plain iteration, at no cost.


def give_way_on_this_thread(pause: Callable[[], None]) -> None:
    """Call `pause` between the steps of long walks on this thread; it returns when they may go
    on."""
    _thread.pause = pause


def cooperative(items: Iterable[T]) -> Iterator[T]:
    """The items; on a thread that gives way, with a pause after each for as long as is asked."""
    pause = _thread.pause
    return iter(items) if pause is None else _with_pauses(items, pause)


def _with_pauses(items: Iterable[T], pause: Callable[[], None]) -> Iterator[T]:
    for item in items:
        yield item
        pause()
