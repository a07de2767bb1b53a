"""Cancels requests to a language model and closes their connections.

DSPy's asyncio engines close the connection of a request whose task is cancelled; the blocking ones
cannot be interrupted before the server answers. Requests therefore run on one event loop in a
background thread, and the calling thread waits for the answer, a cancellation or the timeout.
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
"""Longest time in seconds that a request continues after its cancellation."""
CLOSE_SECONDS = 2.0

T = TypeVar("T")
_cancel: contextvars.ContextVar[Cancel | None] = contextvars.ContextVar(
    "citewell_llm_cancel", default=None
)
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


class OutOfTime(Exception):  # noqa: N818 - as `Cancelled`
    """The request timed out."""


@contextmanager
def stoppable(cancel: Cancel | None) -> Iterator[None]:
    """Setting `cancel` ends the requests that this thread sends inside the `with` block."""
    token = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(token)


def stopped() -> bool:
    """True if the request of this thread was cancelled or timed out."""
    cancel = _cancel.get()
    return cancel is not None and cancel.is_set


class Stoppable:
    """A blocking interface to an asyncio engine, for callers on any thread."""

    def __init__(self, open_engine: Callable[[], Any], seconds: float) -> None:
        """`seconds` limits the duration of a whole request."""
        self._engine = open_engine()
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()

    def complete(self, request: Any) -> Any:
        """The answer to a request. Raises `Cancelled`, `OutOfTime` or `AnswerTooLong`."""
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
        """Cancel running requests and close connections."""
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
    """The event loop of this process, which runs in a daemon thread."""
    global _loop  # noqa: PLW0603 - clients of LiteLLM live as long as the process, on one loop
    with _lock:
        if _loop is None:
            _loop = BoundedLoop()
            threading.Thread(target=_loop.run_forever, name="citewell-llm", daemon=True).start()
        return _loop
