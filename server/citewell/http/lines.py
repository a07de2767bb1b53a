"""An answer in parts: JSON Lines, for clients that ask with `Accept: application/jsonl`.

Each line is a whole answer, newer than the one before; a problem is the last line, as an error
would have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from citewell.http.contract import PartCallback
from citewell.http.streaming import StreamedAnswer, wants
from citewell.model import Problem
from citewell.serving.problem_json import problem_json

MEDIA_TYPE = "application/jsonl"
Work = Callable[[PartCallback, Receive], Awaitable[msgspec.Struct | Problem]]
"""Returns the last answer, or why there is none."""


def wants_lines(request: Request) -> bool:
    """Whether a client asks for JSON Lines by name."""
    return wants(request, MEDIA_TYPE)


class LineStream(StreamedAnswer[Work]):
    """The lines of one answer."""

    format = MEDIA_TYPE

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
                parts.put_nowait(problem_json(found, self._status_of(found)) + b"\n")
            parts.put_nowait(None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
