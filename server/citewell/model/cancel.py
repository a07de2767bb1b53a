"""Cancellation and pauses of long work, checked between its steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818 - nothing is wrong when it is raised
    """The client cancelled the request; it gets no answer."""


class Cancel:
    """A cancellation flag, set by the client or by a deadline; cheap to check, and thread-safe."""

    def __init__(self, seconds: float | None = None) -> None:
        self._event = threading.Event()
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def set(self) -> None:
        """Cancel the work on this request."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """True once the client cancelled; a passed deadline does not count."""
        return self._event.is_set()

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0; infinity without one."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `Cancelled` if the client cancelled."""
        if self._event.is_set():
            raise Cancelled


# Progress of long reads.
#
# A reader of large files wraps its work in `reading(what, total)` and calls the function that
# `stepper()` returns at each step. On a thread set up with `watch_this_thread`, the steps are
# counted; on every other thread they cost nothing.


class Watch(Protocol):
    """Observes what a thread reads. Called on that thread."""

    def begin(self, what: str, total: int, done: int) -> None:
        """Start a read of `total` steps; `done` of them are finished."""
        ...

    def step(self) -> None:
        """Count one more step."""
        ...

    def end(self) -> None:
        """End the read."""
        ...


class _Thread(threading.local):
    watch: Watch | None = None
    pause: Callable[[], None] | None = None


_thread = _Thread()


def watch_this_thread(watch: Watch | None) -> None:
    """Let `watch` observe the reads of this thread."""
    _thread.watch = watch


@contextmanager
def reading(what: str, total: int, done: int = 0) -> Iterator[None]:
    """Report a long read while the block runs."""
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
    """The function to call at each step."""
    return _nothing if _thread.watch is None else _thread.watch.step


def _nothing() -> None:
    """Do nothing."""


def was_interrupted(error: BaseException | None) -> bool:
    """True for the errors that a module raises when Ctrl+C interrupts its import."""
    for _ in range(20):
        if error is None or isinstance(error, KeyboardInterrupt):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


# Long background loops that pause while a request is pending.
#
# Threads of one process share the interpreter: a loop over twenty thousand entries would delay
# every answer. Therefore it iterates over `cooperative(entries)`. On a thread set up with
# `give_way_on_this_thread` the loop pauses between two entries while that function blocks; on every
# other thread it is the plain iteration, at no cost.


def give_way_on_this_thread(pause: Callable[[], None]) -> None:
    """Call `pause` between the steps of long loops on this thread; it returns when they may
    continue."""
    _thread.pause = pause


def cooperative(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; on a thread that gives way, pause after each if needed."""
    pause = _thread.pause
    return iter(items) if pause is None else _with_pauses(items, pause)


def _with_pauses(items: Iterable[T], pause: Callable[[], None]) -> Iterator[T]:
    for item in items:
        yield item
        pause()
