"""A limit to the requests of one client: a full bucket, refilled evenly over a minute."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from citewell.model import Problem
from citewell.serving.guard import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MAX_CLIENTS = 10_000
"""Clients that are remembered; the ones that have been silent longest are forgotten first."""
UNLIMITED = frozenset({"/v1/health", "/metrics"})
"""Paths that are not counted: monitors ask them again and again."""


class Buckets:
    """How many requests each client may still make. For one event loop."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take one request from the client's bucket. Returns 0, or the seconds until there is one
        to take."""
        now = self._clock()
        left, since = self._left.pop(client, (self._size, now))
        left = min(self._size, left + (now - since) * self._size / 60)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        if len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._size


class RateLimit:
    """Refuses the requests of a client beyond its limit, with the seconds to wait."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self._app = app
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("path") not in UNLIMITED:
            wait = self._buckets.wait(client_of(scope))
            if wait:
                seconds = str(math.ceil(wait)).encode()
                await refuse(send, _TOO_MANY, 429, (b"retry-after", seconds))
                return
        await self._app(scope, receive, send)


def client_of(scope: Scope) -> str:
    """The address of the client; of IPv6 the network, of which one client has all addresses."""
    host = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


_TOO_MANY = Problem(
    "rate-limited", "Too many requests in a minute.", "Wait as long as Retry-After says."
)
