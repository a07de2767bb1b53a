"""Ends a request that is no longer wanted, and closes its connection.

DSPy's engines for asyncio close the connection of a request whose task is cancelled; those that
block cannot be stopped before the server answers. So requests run on one loop, on a thread of
their own, and whoever asks waits for the answer, for the cancel or for the end of its time.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from citewell.llm.bounded import Allowance, AnswerTooLong, BoundedLoop, allowed
from citewell.model.cancel import Cancel, Cancelled

LOOK_SECONDS = 0.05
"""Maximum time that a request continues after cancellation."""
CLOSE_SECONDS = 2.0

T = TypeVar("T")
_cancel: contextvars.ContextVar[Cancel | None] = contextvars.ContextVar(
    "citewell_llm_cancel", default=None
)
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


class OutOfTime(Exception):  # noqa: N818 - as `Cancelled`
    """The request's time is up."""


@contextmanager
def stoppable(cancel: Cancel | None) -> Iterator[None]:
    """What is asked inside of it on this thread ends with `cancel`."""
    token = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(token)


def stopped() -> bool:
    """Whether the request of this thread was cancelled or timed out."""
    cancel = _cancel.get()
    return cancel is not None and cancel.is_set


class Stoppable:
    """An engine of asyncio for callers on threads."""

    def __init__(self, open_engine: Callable[[], Any], seconds: float) -> None:
        """`seconds` is what a whole request may take."""
        self._engine = open_engine()
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()

    def complete(self, request: Any) -> Any:
        """One answer. Raises `Cancelled` or `OutOfTime` if it is no longer wanted, and
        `AnswerTooLong`."""
        allowance = Allowance()
        try:
            return self._wait(self._start(self._answer(request, allowance)))
        except (Cancelled, OutOfTime):
            raise
        except Exception as error:
            if allowance.is_spent:
                raise AnswerTooLong from error
            raise

    def close(self) -> None:
        """End what still runs, and close connections."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()
        with suppress(Exception):
            wait([self._start(self._engine.aclose())], timeout=CLOSE_SECONDS)

    async def _answer(self, request: Any, allowance: Allowance) -> Any:
        with allowed(allowance):
            return await self._engine.complete(request)

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        future = asyncio.run_coroutine_threadsafe(work, _running_loop())
        with self._lock:
            self._running.add(future)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, future: Future[Any]) -> None:
        with self._lock:
            self._running.discard(future)

    def _wait(self, future: Future[T]) -> T:
        end = time.monotonic() + self._seconds
        while not future.done():
            if stopped():
                future.cancel()
                raise Cancelled
            remaining = end - time.monotonic()
            if remaining <= 0:
                future.cancel()
                raise OutOfTime
            wait([future], timeout=min(LOOK_SECONDS, remaining))
        if future.cancelled():
            raise Cancelled
        return future.result()


def _running_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, running on a daemon thread."""
    global _loop  # noqa: PLW0603 - clients of LiteLLM live as long as the process, on one loop
    with _lock:
        if _loop is None:
            _loop = BoundedLoop()
            threading.Thread(target=_loop.run_forever, name="citewell-llm", daemon=True).start()
        return _loop
