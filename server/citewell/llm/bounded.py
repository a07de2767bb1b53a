"""An event loop that limits how many bytes a response may have.

A server can send gigabytes within the timeout of a request, and the HTTP clients that DSPy and
LiteLLM use buffer the whole body. All of them open their connections on one loop (`stopping`), so
the loop counts the received bytes, whichever client sent the request.
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
