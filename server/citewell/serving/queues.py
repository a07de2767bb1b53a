"""Requests wait behind others of their kind, never behind those of another.

A check takes milliseconds, a search some ten times as long, an act of a language model seconds. In
one queue whoever asks for little waits for those who ask for much. Each kind has threads of its
own, as many as keep its lane of the engine's process busy (`engine.worker`): more would only wait
there. Within a kind the first to come is the first to be answered; a connection has one request at
a time, so that clients take turns.
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
"""`record`: known by name; `check`: references against the library; `online`: what asks sources."""
THREADS = 6
"""Of each kind that work at once."""
MAX_WAITING = 128
"""Maximum pending requests of each kind; further ones are refused for now."""

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
        """A place in a queue. Raises `CitewellError` where all are taken."""
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
