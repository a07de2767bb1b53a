"""Time limits for clients: a connection that neither sends nor receives is closed.

Uvicorn waits without limit for the first byte of a request, for the rest of its headers, for its
body and for a client that reads no answer: a few hundred idle connections would block a server.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 30.0
"""Limit for the headers of a request, for its body, and for each part of an answer that the client
does not read."""
GRACE_SECONDS = 2.0
"""An application with its own limit for bodies answers before its connection is closed."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 over sockets, with a limit for each wait for the client."""

    seconds = IDLE_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arriving: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._awaited: object = None
        """The awaited part of a request: its state in h11."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arriving, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking is None:
            self._taking = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _look(self) -> None:
        """Restart the timer with each part of a request, never with each byte: otherwise a slow
        client could keep its connection open indefinitely."""
        state = self.conn.their_state
        awaited = state if state in (h11.IDLE, h11.SEND_BODY) else None
        if awaited is self._awaited:
            return
        self._awaited = awaited
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
        if awaited is not None:
            seconds = self.seconds + (GRACE_SECONDS if awaited is h11.SEND_BODY else 0.0)
            self._arriving = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self.flow.read_paused:  # the application, not the client, is slow to read
            self._arriving = self.loop.call_later(self.seconds, self._give_up)
        elif not self.transport.is_closing():
            self.transport.close()
