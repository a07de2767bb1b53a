"""An answer with progress: server-sent events, for clients that ask with `Accept:
text/event-stream`.

    event: progress                          as often as something was done
    data: {"done":64,"total":500}

    event: answer                            or `problem`, as an error would have it; the last one
    data: {"status":"checked", ...}

Web pages, command lines and most languages read this form as it arrives, and a line that says
nothing keeps proxies from closing a connection on which nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import anyio
import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from citewell.http.contract import ProgressCallback
from citewell.http.streaming import StreamedAnswer, wants
from citewell.model import Problem
from citewell.serving.problem_json import problem_json

MEDIA_TYPE = "text/event-stream"
BEAT_SECONDS = 10.0
"""After which a silent stream says that it is alive."""

Work = Callable[[ProgressCallback, Receive], Awaitable[msgspec.Struct | Problem]]
"""The answer or its problem; raises `anyio.get_cancelled_exc_class()` if the client left."""


class ProgressEvent(msgspec.Struct, frozen=True):
    """How far the work is, in steps of its own kind: references, places, placeholders."""

    done: int
    total: int


def wants_events(request: Request) -> bool:
    """Whether a client asks for events by name; one that takes anything is answered at once."""
    return wants(request, MEDIA_TYPE)


def event(name: str, data: bytes) -> bytes:
    """One event; JSON has no line ends of its own."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


class EventStream(StreamedAnswer[Work]):
    """The events of one answer; what fails after the start is the event `problem`."""

    format = MEDIA_TYPE

    def __init__(
        self, work: Work, status_of: Callable[[Problem], int], headers: Mapping[str, str]
    ) -> None:
        super().__init__(work, status_of, headers)
        self._latest: ProgressEvent | None = None
        self._changed = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def say(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        def on_progress(done: int, total: int) -> None:
            loop.call_soon_threadsafe(self._note, ProgressEvent(done, total))

        async def send_progress() -> None:
            while True:
                latest = None
                with anyio.move_on_after(BEAT_SECONDS):
                    await self._changed.wait()
                    self._changed = anyio.Event()
                    latest, self._latest = self._latest, None
                await say(b": waiting\n\n" if latest is None else _progress(latest))

        async with anyio.create_task_group() as group:
            group.start_soon(send_progress)
            found = await self._work(on_progress, receive)
            group.cancel_scope.cancel()
        if self._latest is not None:
            await say(_progress(self._latest))
        if isinstance(found, Problem):
            last = event("problem", problem_json(found, self._status_of(found)))
        else:
            last = event("answer", msgspec.json.encode(found))
        await say(last, more=False)

    def _note(self, progress: ProgressEvent) -> None:
        self._latest = progress
        self._changed.set()


def _progress(progress: ProgressEvent) -> bytes:
    return event("progress", msgspec.json.encode(progress))
