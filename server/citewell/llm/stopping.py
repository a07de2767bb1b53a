"""Cancels requests to a language model and closes their connections.

DSPy's asyncio engines close the connection of a request whose task is cancelled; the blocking ones
cannot be interrupted before the server answers. Requests therefore run on one event loop in a
background thread, and the calling thread waits for the answer, a cancellation or the timeout.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from citewell.model.cancel import Cancel, Cancelled

# An event loop that limits how many bytes a response may have.
#
# A server can send gigabytes within the timeout of a request, and the HTTP clients that DSPy and
# LiteLLM use buffer the whole body. All of them open their connections on one loop (`stopping`),
# so the loop counts the received bytes, whichever client sent the request.

MAX_ANSWER = 1024 * 1024
"""Limit in bytes of one response, including headers and reasoning text: a few hundred thousand
tokens."""
_MAX_HEAD = 65_536
_COMPRESSED = re.compile(rb"\r\ncontent-encoding:(?![ \t]*identity[ \t]*\r)", re.IGNORECASE)
_allowance: contextvars.ContextVar[Allowance | None] = contextvars.ContextVar(
    "citewell_llm_allowance", default=None
)


class AnswerTooLong(Exception):  # noqa: N818 - as `Cancelled`
    """The response exceeds the limit."""


class Allowance:
    """The number of bytes that one response may still have."""

    def __init__(self, most: int = MAX_ANSWER) -> None:
        self._left = most

    @property
    def is_spent(self) -> bool:
        """True once the response has exceeded its limit."""
        return self._left < 0

    def spend(self, size: int) -> None:
        """Count received bytes."""
        self._left -= size

    def end(self) -> None:
        """Accept no more bytes."""
        self._left = -1


@contextmanager
def allowed(allowance: Allowance) -> Iterator[None]:
    """Apply the allowance to the requests that this task sends inside the `with` block."""
    token = _allowance.set(allowance)
    try:
        yield
    finally:
        _allowance.reset(token)


class _Meter:
    """Wraps a protocol to count received bytes. A connection serves requests in sequence, so the
    bytes count for the request that wrote to it last."""

    def __init__(self, protocol: Any) -> None:
        self._made = protocol.connection_made
        self._received = protocol.data_received
        self._transport: Any = None
        self._write: Any = None
        self._allowance: Allowance | None = None
        self._head: bytes | None = b""
        """The beginning of a response; None once its headers are complete."""
        protocol.connection_made = self.connection_made
        protocol.data_received = self.data_received

    def connection_made(self, transport: Any) -> None:
        self._transport, self._write = transport, transport.write
        transport.write = self.write
        self._made(transport)

    def write(self, data: Any) -> None:
        self._allowance = _allowance.get() or self._allowance
        self._head = b""
        self._write(data)

    def data_received(self, data: bytes) -> None:
        if self._allowance is not None:
            self._allowance.spend(len(data))
            self._look_at(data)
            if self._allowance.is_spent:
                self._transport.abort()
                return
        self._received(data)

    def _look_at(self, data: bytes) -> None:
        """Reject a compressed body, which may be large once it is decompressed. Every request asks
        for an uncompressed one."""
        if self._head is None:
            return
        self._head += data[:_MAX_HEAD]
        head, end, _ = self._head.partition(b"\r\n\r\n")
        if end or len(head) >= _MAX_HEAD:
            self._head = None
            if _COMPRESSED.search(head + b"\r") and self._allowance is not None:
                self._allowance.end()


if sys.platform == "win32":
    _Loop = asyncio.ProactorEventLoop
else:
    _Loop = asyncio.SelectorEventLoop


class BoundedLoop(_Loop):
    """The platform's event loop, with a meter on each connection that it opens."""

    async def create_connection(self, protocol_factory: Any, *args: Any, **kwargs: Any) -> Any:
        """Open a connection as the base class does, with a meter around its protocol."""

        def metered() -> Any:
            protocol = protocol_factory()
            if isinstance(protocol, asyncio.Protocol):
                _Meter(protocol)
            return protocol

        return await super().create_connection(metered, *args, **kwargs)


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
