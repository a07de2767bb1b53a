"""How fast a source may be asked: evenly spaced requests, and few open at a time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from citewell.sources.web.shared_pace import SharedPace

_INTERVAL = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*s?\s*$")
SLOWEST = 60.0
"""Seconds between two requests that a server's headers may ask for at most."""
TRIES = 3
"""Turns that a request reserves at most, where it comes too late for each."""


class RateLimiter:
    """The pace of one source. For one event loop.

    Bursts would be allowed by the average and still be refused, so there are none. `shared` holds
    the pace for other processes, too; without it, the pace is that of this limiter alone.
    """

    def __init__(self, per_second: float, at_once: int, shared: SharedPace | None = None) -> None:
        self._own_interval = self._interval = 1 / per_second
        self._open = asyncio.Semaphore(at_once)
        self._shared = shared
        self._waiting = asyncio.Lock()
        """Held by the request that waits for its turn: one at a time, in the order of arrival."""
        self._next = 0.0
        """Earliest time of the next request, in seconds of the event loop's clock."""
        self._reserved: float | None = None
        """The turn that was reserved and is not used yet; a request that is cancelled leaves it to
        the one behind it."""

    @property
    def interval(self) -> float:
        """Seconds between two requests."""
        return self._interval

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of one request, and hold its place until it ends. Raises `Trouble`
        during a pause that the source asked for."""
        async with self._open:
            async with self._waiting:
                await self._wait()
            yield

    def learn(self, headers: Mapping[str, str]) -> None:
        """Heed the rate that Crossref's headers state, where it is below our own."""
        found = _INTERVAL.match(headers.get("x-rate-limit-interval", ""))
        limit = headers.get("x-rate-limit-limit", "").strip()
        if found is None or not limit.isdigit() or int(limit) == 0:
            return
        stated = min(SLOWEST, float(found[1]) / int(limit))
        self._interval = max(self._own_interval, stated)
        if self._shared is not None:
            self._shared.state(stated if stated > self._own_interval else 0.0)

    async def rest(self, seconds: float) -> None:
        """Record, for the other processes too, that the source asks for a pause of `seconds`."""
        if self._shared is not None:
            await self._shared.rest(seconds)

    async def _wait(self) -> None:
        """Wait until a request may go out."""
        loop = asyncio.get_running_loop()
        for _ in range(TRIES):
            if self._reserved is None or self._is_late(loop.time()):
                self._reserved = await self._reserve(loop)
            seconds = self._reserved - loop.time()
            await asyncio.sleep(seconds)
            if seconds > 0 and self._shared is not None:
                await self._shared.check()
            if not self._is_late(loop.time()):
                break
        self._reserved = None
        self._next = loop.time() + self._interval

    async def _reserve(self, loop: asyncio.AbstractEventLoop) -> float:
        after = max(0.0, self._next - loop.time())
        seconds = None
        if self._shared is not None:
            unused = self._reserved is not None
            seconds = await self._shared.reserve(self._interval, after=after, unused=unused)
        return loop.time() + (after if seconds is None else seconds)

    def _is_late(self, now: float) -> bool:
        """True when another process may be about to send a request, as its turn comes next."""
        late = max(0.05, self._interval / 10)
        return self._reserved is not None and now > self._reserved + late
