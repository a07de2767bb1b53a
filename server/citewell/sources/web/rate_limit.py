"""How fast a source may be asked: evenly spaced requests, and few open at a time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

_INTERVAL = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*s?\s*$")
SLOWEST = 60.0
"""Seconds between two requests that a server's headers may ask for at most."""


class RateLimiter:
    """The pace of one source. For one event loop.

    A bucket of one request: bursts would be allowed by the average and still be refused.
    """

    def __init__(self, per_second: float, at_once: int) -> None:
        self._interval = 1 / per_second
        self._limiter = AsyncLimiter(1, self._interval)
        self._open = asyncio.Semaphore(at_once)

    @property
    def interval(self) -> float:
        """Seconds between two requests."""
        return self._limiter.time_period

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of one request, and hold its place until it ends."""
        async with self._open:
            await self._limiter.acquire()
            yield

    def learn(self, headers: Mapping[str, str]) -> None:
        """Heed the rate that Crossref's headers state, where it is below our own."""
        found = _INTERVAL.match(headers.get("x-rate-limit-interval", ""))
        limit = headers.get("x-rate-limit-limit", "").strip()
        if found is None or not limit.isdigit() or int(limit) == 0:
            return
        stated_interval = min(SLOWEST, float(found[1]) / int(limit))
        interval = max(self._interval, stated_interval)
        if abs(interval - self._limiter.time_period) > 1e-9:
            self._limiter = AsyncLimiter(1, interval)
