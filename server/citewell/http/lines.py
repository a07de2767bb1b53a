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
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from citewell.http.contract import PartCallback
from citewell.model import Problem
from citewell.serving.problem_json import problem_json

MEDIA_TYPE = "application/jsonl"
Work = Callable[[PartCallback, Receive], Awaitable[msgspec.Struct | Problem]]
"""Returns the last answer, or why there is none."""


def wants_lines(request: Request) -> bool:
    """Whether a client asks for JSON Lines by name."""
    accepted = request.headers.get("accept", "").lower()
    return any(part.partition(";")[0].strip() == MEDIA_TYPE for part in accepted.split(","))


class LineStream(Response):
    """The lines of one answer. The status is 200 before anything is known."""

    def __init__(
        self, work: Work, status_of: Callable[[Problem], int], headers: dict[str, str]
    ) -> None:
        super().__init__(
            status_code=200,
            media_type=MEDIA_TYPE,
            # A proxy that collects the answer would keep the first parts to itself.
            headers={**headers, "x-accel-buffering": "no"},
        )
        # The length is not known.
        self.raw_headers = [one for one in self.raw_headers if one[0] != b"content-length"]
        self._work = work
        self._status_of = status_of

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
