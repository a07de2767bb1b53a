"""Access control of all HTTP servers of Citewell.

A web page that a user looks at can send requests to servers of this machine, under a name of its
own that leads here (DNS rebinding) or from its own origin. So the server answers to its own names
alone, to its own pages and those that the user named, and, where there is a token, to who has it.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from citewell.model import Problem
from citewell.serving.address import is_loopback
from citewell.serving.problem_json import MEDIA_TYPE, problem_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::")
"""Addresses to listen on that mean all of the machine."""
_FOREIGN_SITES = (b"cross-site", b"same-site")


class Admission(msgspec.Struct, frozen=True):
    """Who may ask a server."""

    hosts: frozenset[str] = frozenset()
    """`Host` headers, in lower case."""
    origins: frozenset[str] = frozenset()
    token: str = ""
    pages: frozenset[str] = frozenset()
    """Paths of pages that hold no data, which links on other sites may open."""

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
        """For a server that listens there, with the further `origins` and `hosts` that the user
        named, and the `pages` that it shows. Pages of those hosts are its own, with TLS of a proxy
        or without."""
        own = f"[{host}]" if ":" in host else host
        names = [] if is_loopback(host) else [own]
        # At all addresses of a machine, as in a container, it is also at this one.
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
    """Lets only requests through that name this server, from no foreign web page."""

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
        # Images and links of a foreign page have no Origin header, but Sec-Fetch-Site.
        if headers.get(b"sec-fetch-site") in _FOREIGN_SITES and not self._opens_page(
            scope, headers
        ):
            return _FOREIGN_ORIGIN, 403
        return None

    def _opens_page(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """True if a link leads a whole window to one of the pages; no frame, script or image."""
        return (
            scope.get("method") == "GET"
            and scope.get("path") in self._admission.pages
            and headers.get(b"sec-fetch-mode") == b"navigate"
            and headers.get(b"sec-fetch-dest") == b"document"
        )


class TokenGuard:
    """Lets only requests through that carry the bearer token, compared in constant time, and those
    for `open_paths`, which hold no data, or below `keyed`, whose paths hold a key of their own: a
    browser sends no token when it opens a page."""

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        open_paths: Collection[str] = frozenset(),
        keyed: str | None = None,
    ) -> None:
        self._app = app
        self._open_paths = open_paths
        self._keyed = keyed
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and not self._is_open(scope):
            headers = dict(scope.get("headers", ()))
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await refuse(send, _NO_TOKEN, 401, (b"www-authenticate", b"Bearer"))
                return
        await self._app(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        if scope.get("method") not in ("GET", "HEAD"):
            return False
        path = scope.get("path", "")
        return path in self._open_paths or bool(self._keyed and path.startswith(self._keyed))


def guarded(app: ASGIApp, admission: Admission) -> ASGIApp:
    """The application behind both guards; no token, no guard for it."""
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
    """Answer with a problem, without the application."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", MEDIA_TYPE.encode()), *headers],
        }
    )
    await send({"type": "http.response.body", "body": problem_json(problem, status)})
