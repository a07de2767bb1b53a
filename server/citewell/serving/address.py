"""The address of a server: this machine only, unless a token is required."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LEAST_TOKEN = 16
"""Minimum length of a token for access from other machines: a shorter one can be guessed."""


def is_loopback(host: str) -> bool:
    """True for an address that only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, *, token: str, variable: str, public: bool = False) -> socket.socket:
    """A socket bound to the address; port 0 takes a free one. `variable` is the environment
    variable of the token. Raises `CitewellError` for an address that is taken, or that other
    machines can reach without a token, or with a short one, unless it is `public`."""
    if len(token) < LEAST_TOKEN and not public and not is_loopback(host):
        reason = f"the token has only {len(token)} letters" if token else "no token is set"
        raise CitewellError(
            Problem(
                "address-open",
                f"{host} can be reached from other machines, but {reason}.",
                f"Listen on 127.0.0.1, or set {variable} to a long random token.",
            )
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio checks the protocol before it turns Nagle's algorithm off: otherwise each answer waits
    # 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # A restarted server need not wait until old connections have expired. On other systems the
        # option would let two servers share an address.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise CitewellError(
            Problem(
                "address-taken",
                f"Cannot listen on {host}:{port} ({error.strerror or error}).",
                "Use an address of this machine, such as 127.0.0.1."
                if isinstance(error, socket.gaierror)
                else "Use another port, or 0 for a free one.",
            )
        ) from error
    return bound


def url_of(host: str, port: int) -> str:
    """The URL for clients."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# A server below a path of its reverse proxy, which may forward the path or strip it.


class BasePath:
    """Strips the base path from the path of each request."""

    def __init__(self, app: ASGIApp, base: str) -> None:
        self._app = app
        self._base = base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path == self._base and scope.get("method") == "GET":
            # The addresses in the page are relative to its folder, which must end with a slash.
            query = scope.get("query_string", b"")
            to = f"{self._base}/".encode() + (b"?" + query if query else b"")
            headers = [(b"location", to), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 308, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        if path == self._base or path.startswith(f"{self._base}/"):
            raw = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": path[len(self._base) :] or "/",
                "raw_path": raw.removeprefix(self._base.encode()) or b"/",
            }
        await self._app(scope, receive, send)
