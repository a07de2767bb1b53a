"""An event loop whose connections take no more of an answer than a request may have.

A server may go on sending for as long as it likes: gigabytes come in seconds, long before the time
of a request is up, and the HTTP clients below DSPy and LiteLLM collect a body whole. All of them
open their connections on one loop (`stopping`), so the loop counts what arrives, whoever asks.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MAX_ANSWER = 1024 * 1024
"""Bytes that a request may bring, with headers and what a model writes while it reasons: some
hundred thousand tokens."""
_MAX_HEAD = 65_536
_COMPRESSED = re.compile(rb"\r\ncontent-encoding:(?![ \t]*identity[ \t]*\r)", re.IGNORECASE)
_allowance: contextvars.ContextVar[Allowance | None] = contextvars.ContextVar(
    "citewell_llm_allowance", default=None
)


class AnswerTooLong(Exception):  # noqa: N818 - as `Cancelled`
    """More arrived than a request may bring."""


class Allowance:
    """What one request may still bring."""

    def __init__(self, most: int = MAX_ANSWER) -> None:
        self._left = most

    @property
    def is_spent(self) -> bool:
        """True once more arrived than was allowed."""
        return self._left < 0

    def spend(self, size: int) -> None:
        """Count what arrived."""
        self._left -= size

    def end(self) -> None:
        """Take nothing more."""
        self._left = -1


@contextmanager
def allowed(allowance: Allowance) -> Iterator[None]:
    """What is sent inside of it, in this task, may bring so much."""
    token = _allowance.set(allowance)
    try:
        yield
    finally:
        _allowance.reset(token)


class _Meter:
    """Stands between a connection and who reads it. A connection serves one request after the
    other: each time something is sent, it counts for the request that sent it."""

    def __init__(self, protocol: Any) -> None:
        self._made = protocol.connection_made
        self._received = protocol.data_received
        self._transport: Any = None
        self._write: Any = None
        self._allowance: Allowance | None = None
        self._head: bytes | None = b""
        """The beginning of an answer; None once its headers have been seen."""
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
        """A body that is small as it travels may be large once it is unpacked. None was asked for:
        every request says that it takes an answer as it is."""
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
    """The platform's loop, with a meter at each connection that is opened on it."""

    async def create_connection(self, protocol_factory: Any, *args: Any, **kwargs: Any) -> Any:
        """As the base class does it."""

        def metered() -> Any:
            protocol = protocol_factory()
            if isinstance(protocol, asyncio.Protocol):
                _Meter(protocol)
            return protocol

        return await super().create_connection(metered, *args, **kwargs)
