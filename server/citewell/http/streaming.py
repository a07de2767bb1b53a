"""An answer in parts, for clients that ask for it with `Accept`.

`text/event-stream`: server-sent events that show progress.

    event: progress                          as often as something was done
    data: {"done":64,"total":500}

    event: answer                            or `problem`, as an error would have it; the last one
    data: {"status":"checked", ...}

Web pages, command lines and most languages read this form as it arrives, and a line that says
nothing keeps proxies from closing a connection on which nothing happens.

`application/jsonl`: each line is a whole answer, newer than the one before; a problem is the last
line, as an error would have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from citewell.http.statuses import status_of
from citewell.model import Problem
from citewell.operations.operation import PartCallback
from citewell.serving.problem_json import DATA_HEADERS, problem_json
from citewell.usecases.find import Progress

EVENTS = "text/event-stream"
LINES = "application/jsonl"
BEAT_SECONDS = 10.0
"""Seconds after which a silent stream sends a keep-alive."""

Work = TypeVar("Work")
EventWork = Callable[[Progress, Receive], Awaitable[msgspec.Struct | Problem]]
"""Returns the answer, or the problem."""
LineWork = Callable[[PartCallback, Receive], Awaitable[msgspec.Struct | Problem]]
"""Returns the last answer, or the problem."""


def wants(request: Request, media_type: str) -> bool:
    """Whether a client requests a format by name; a wildcard does not count."""
    accepted = request.headers.get("accept", "").lower()
    return any(part.partition(";")[0].strip() == media_type for part in accepted.split(","))


class StreamedAnswer(Response, Generic[Work]):
    """An answer in parts. Its status is 200 from the start."""

    format: ClassVar[str]
    """The media type."""

    def __init__(self, work: Work) -> None:
        super().__init__(
            status_code=200,
            media_type=self.format,
            # A buffering proxy would withhold the first parts.
            headers={**DATA_HEADERS, "x-accel-buffering": "no"},
        )
        # The length is unknown.
        self.raw_headers = [one for one in self.raw_headers if one[0] != b"content-length"]
        self._work = work


class ProgressEvent(msgspec.Struct, frozen=True):
    """The progress of the work, in steps of its own kind: references, places, placeholders."""

    done: int
    total: int


def event(name: str, data: bytes) -> bytes:
    """One event; JSON has no line ends of its own."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


class EventStream(StreamedAnswer[EventWork]):
    """The events of one answer; a later failure is the event `problem`."""

    format = EVENTS

    def __init__(self, work: EventWork) -> None:
        super().__init__(work)
        self._latest: ProgressEvent | None = None
        self._changed = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def say(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        def on_progress(stage: str, done: int, total: int) -> None:
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
            last = event("problem", problem_json(found, status_of(found)))
        else:
            last = event("answer", msgspec.json.encode(found))
        await say(last, more=False)

    def _note(self, progress: ProgressEvent) -> None:
        self._latest = progress
        self._changed.set()


def _progress(progress: ProgressEvent) -> bytes:
    return event("progress", msgspec.json.encode(progress))


class LineStream(StreamedAnswer[LineWork]):
    """The lines of one answer."""

    format = LINES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        def on_part(part: msgspec.Struct) -> None:
            loop.call_soon_threadsafe(parts.put_nowait, msgspec.json.encode(part) + b"\n")

        async def send_parts() -> None:
            while (line := await parts.get()) is not None:
                await send({"type": "http.response.body", "body": line, "more_body": True})

        async with anyio.create_task_group() as group:
            group.start_soon(send_parts)
            found = await self._work(on_part, receive)
            if isinstance(found, Problem):
                parts.put_nowait(problem_json(found, status_of(found)) + b"\n")
            parts.put_nowait(None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
