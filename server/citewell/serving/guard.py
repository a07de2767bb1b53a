"""Access control of all HTTP servers of Citewell.

A web page in the user's browser can send requests to servers of this machine, under a name of its
own that resolves to it (DNS rebinding) or from its own origin. Therefore the server answers only to
its own names, to its own pages and those allowed by the user, and, if there is a token, to requests
with it.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from citewell.model import CitewellError, Problem
from citewell.serving.address import is_loopback
from citewell.serving.problem_json import MEDIA_TYPE, problem_json
from citewell.sources.web.keys import MAX_KEY, find_key

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::")
"""Addresses that stand for all interfaces of the machine."""
_FOREIGN_SITES = (b"cross-site", b"same-site")


class Admission(msgspec.Struct, frozen=True):
    """The requests that a server accepts."""

    hosts: frozenset[str] = frozenset()
    """`Host` headers, lower case."""
    origins: frozenset[str] = frozenset()
    token: str = ""
    pages: frozenset[str] = frozenset()
    """Paths of pages without data, which links on other sites may open."""

    @classmethod
    def at(
        cls,
        host: str,
        port: int,
        *,
        token: str = "",
        origins: Sequence[str] = (),
        hosts: Sequence[str] = (),
        pages: Sequence[str] = (),
    ) -> Admission:
        """The rules for a server at an address, with the further `origins` and `hosts` from the
        user, and its `pages`. Pages of those hosts are its own, with or without a proxy's TLS."""
        own = f"[{host}]" if ":" in host else host
        names = [] if is_loopback(host) else [own]
        # A server at all addresses of a machine, as in a container, is also at this one.
        names += LOOPBACK_NAMES if is_loopback(host) or host in WILDCARDS else []
        given = [f"{name}:{port}" for name in names]
        own_pages = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
        allowed = [*(f"http://{name}" for name in given), *own_pages, *origins]
        return cls(
            frozenset(name.lower() for name in (*given, *hosts)),
            frozenset(origin.rstrip("/").lower() for origin in allowed),
            token,
            frozenset(pages),
        )


class NameGuard:
    """Rejects requests with another server's name or from a foreign web page."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            refused = self._refused(scope, dict(scope.get("headers", ())))
            if refused is not None:
                await refuse(send, *refused)
                return
        await self._app(scope, receive, send)

    def _refused(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[Problem, int] | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host not in self._admission.hosts:
            return _FOREIGN_HOST, 421
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin:
            return None if origin in self._admission.origins else (_FOREIGN_ORIGIN, 403)
        # Requests for images and links of a foreign page have a Sec-Fetch-Site header, but no
        # Origin.
        if headers.get(b"sec-fetch-site") in _FOREIGN_SITES and not self._opens_page(
            scope, headers
        ):
            return _FOREIGN_ORIGIN, 403
        return None

    def _opens_page(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """True if a link opens one of the pages in a whole window; no frame, script or image."""
        return (
            scope.get("method") == "GET"
            and scope.get("path") in self._admission.pages
            and headers.get(b"sec-fetch-mode") == b"navigate"
            and headers.get(b"sec-fetch-dest") == b"document"
        )


class TokenGuard:
    """Rejects requests without the bearer token, compared in constant time, except for
    `open_paths`, which contain no data."""

    def __init__(self, app: ASGIApp, token: str, open_paths: Collection[str] = frozenset()) -> None:
        self._app = app
        self._open_paths = open_paths
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and not self._is_open(scope):
            headers = dict(scope.get("headers", ()))
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await refuse(send, _NO_TOKEN, 401, (b"www-authenticate", b"Bearer"))
                return
        await self._app(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        return scope.get("method") in ("GET", "HEAD") and scope.get("path", "") in self._open_paths


def guarded(app: ASGIApp, admission: Admission) -> ASGIApp:
    """The application behind both guards; without a token, only the first."""
    if admission.token:
        app = TokenGuard(app, admission.token)
    return NameGuard(app, admission)


_FOREIGN_HOST = Problem(
    "host-refused",
    "Host header not allowed.",
    "Use the address that the server printed, or allow the host with --allow-host.",
)
_FOREIGN_ORIGIN = Problem(
    "origin-refused",
    "Origin not allowed.",
    "Allow the web page's origin with --allow-origin.",
)
_NO_TOKEN = Problem(
    "token-missing",
    "Missing or wrong token.",
    "Send the header `Authorization: Bearer TOKEN` with the server's token.",
)


async def refuse(send: Send, problem: Problem, status: int, *headers: tuple[bytes, bytes]) -> None:
    """Answer with a problem instead of the application."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", MEDIA_TYPE.encode()), *headers],
        }
    )
    await send({"type": "http.response.body", "body": problem_json(problem, status)})


# A rate limit per client: a token bucket, refilled evenly over a minute.

MAX_CLIENTS = 10_000
"""Maximum number of clients in memory; those silent for longest are dropped first."""
UNLIMITED = frozenset({"/v1/health", "/metrics"})
"""Paths that are not counted: monitors poll them."""


class Buckets:
    """The number of requests that each client may still make. For one event loop."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take one request from the client's bucket. Returns 0, or the seconds until one is
        available."""
        now = self._clock()
        left, since = self._left.pop(client, (self._size, now))
        left = min(self._size, left + (now - since) * self._size / 60)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        if len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._size


class RateLimit:
    """Rejects requests of a client beyond its limit, with the seconds to wait."""

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
    """The address of the client; for IPv6 its network, since one client has all its addresses."""
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


# The token of a server: from a file, the environment or the system's keyring, never from a flag.
#
# Every user of the machine can read a flag in the list of processes.

MCP_TOKEN = "CITEWELL_MCP_TOKEN"
HTTP_TOKEN = "CITEWELL_HTTP_TOKEN"
"""Environment variables with the tokens of `citewell mcp` and `citewell serve`."""


def find_token(
    variable: str, name: str, *, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """The token in the file, else in the environment's `variable`, else in the keyring's entry
    `name`; empty if there is none.

    Raises `CitewellError` for one that cannot be used: to go on without it would let everybody in.
    """
    if file is not None:
        try:
            with file.open("rb") as stream:
                given = stream.read(MAX_KEY + 3).decode("utf-8", "replace").strip()
        except OSError as error:
            raise _unusable(f"{file} cannot be read ({error.strerror or error})") from error
        if not given:
            raise _unusable(f"{file} is empty")
        return _sound(given, str(file))
    given = (os.environ if environ is None else environ).get(variable, "").strip()
    if given:
        return _sound(given, variable)
    found = find_key((), name, environ)
    return "" if found is None else found.value


def _sound(token: str, where: str) -> str:
    if len(token) > MAX_KEY or not token.isascii() or not token.isprintable() or " " in token:
        raise _unusable(f"{where} contains no valid token")
    return token


def _unusable(words: str) -> CitewellError:
    return CitewellError(
        Problem(
            "token-unusable",
            f"{words}.",
            f"A token is one line of at most {MAX_KEY} letters, digits and punctuation, without "
            "spaces.",
        )
    )
