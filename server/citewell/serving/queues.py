"""Queues of requests by kind, so that slow kinds do not delay others.

A check takes milliseconds, a search about ten times as long, a language model seconds. Each kind
has its own threads, as many as keep its lane of the engine's process busy (`engine.worker`).
Requests of one kind are answered in order of arrival; a connection has one request at a time, so
that clients take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeVar, get_args

import anyio
import anyio.to_thread

from citewell.model import CitewellError, Problem

Kind = Literal["record", "search", "passage", "document", "check", "online", "model"]
"""`record`: known by name; `check`: references against the library; `online`: queries to
sources."""
THREADS = 6
"""Number of threads of each kind."""
MAX_WAITING = 128
"""Maximum number of pending requests of each kind; further ones are rejected."""

R = TypeVar("R")


class Queues:
    """One queue for each kind. For one event loop."""

    def __init__(self, threads: int = THREADS, waiting: int = MAX_WAITING) -> None:
        kinds = get_args(Kind)
        self._waiting = waiting
        self._limiters = {kind: anyio.CapacityLimiter(threads) for kind in kinds}
        self._inside = dict.fromkeys(kinds, 0)

    @contextmanager
    def place(self, kind: Kind) -> Iterator[None]:
        """Take a slot in a queue. Raises `CitewellError` if none is free."""
        if self._inside[kind] >= self._waiting:
            raise CitewellError(_BUSY)
        self._inside[kind] += 1
        try:
            yield
        finally:
            self._inside[kind] -= 1

    async def run(self, kind: Kind, work: Callable[[], R]) -> R:
        """The result of work on a thread, in queue order. A cancelled caller stops waiting; the
        thread ends when the work does."""
        return await anyio.to_thread.run_sync(
            partial(work), abandon_on_cancel=True, limiter=self._limiters[kind]
        )


_BUSY = Problem("server-busy", "Too many pending requests of this kind.", "Try again in a moment.")
