"""How agents reach the server: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

MAX_BODY = 2 * 1024 * 1024
"""Bytes of one request over HTTP."""
MAX_SESSIONS = 200
IDLE_SECONDS = 900.0


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one agent; returns when it closes standard input."""
    server.run()


BACKLOG = 128
"""Connections that wait to be accepted."""


def serve_http(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve many agents at http://HOST:PORT/mcp until interrupted. Port 0 takes a free one; the
    address is written to standard error. Raises `CitewellError` for an address that is taken, or
    that reaches beyond this machine without a token."""
    import sys

    import uvicorn

    if not token and not is_loopback(host):
        raise CitewellError(
            Problem(
                "mcp-open-address",
                f"{host} can be reached from other machines, and no token is set.",
                "Listen on 127.0.0.1, or put a long random text into CITEWELL_MCP_TOKEN.",
            )
        )
    bound = _bind(host, port)
    port = int(bound.getsockname()[1])
    app = http_app(server, host, port, token=token, origins=origins, allowed_hosts=allowed_hosts)
    # Whoever reads the address may come before the event loop runs: it waits then, unrefused.
    bound.listen(BACKLOG)
    shown = f"[{host}]" if ":" in host else host
    print(f"Citewell listens on http://{shown}:{port}/mcp", file=sys.stderr, flush=True)  # noqa: T201
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[bound])


def http_app(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
) -> ASGIApp:
    """The ASGI application: foreign hosts and origins are refused, bodies are bounded."""
    names = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [host]
    hosts = [f"{name}:{port}" for name in names]
    own = [f"http://{name}" for name in hosts]
    app = server.streamable_http_app(
        host=host,
        max_request_body_size=MAX_BODY,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[*hosts, *allowed_hosts], allowed_origins=[*own, *origins]
        ),
    )
    return TokenGuard(app, token) if token else app


class TokenGuard:
    """Lets only requests through that carry the bearer token; compared in constant time."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            headers = dict(scope.get("headers", ()))
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                body = b'{"error":"A bearer token is needed."}'
                await send(
                    {
                        "type": "http.response.start",
                        "status": 401,
                        "headers": [
                            (b"content-type", b"application/json"),
                            (b"www-authenticate", b"Bearer"),
                        ],
                    }
                )
                await send({"type": "http.response.body", "body": body})
                return
        await self._app(scope, receive, send)


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio asks for it before it turns Nagle's algorithm off:
    # without that each answer waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise CitewellError(
            Problem(
                "mcp-address",
                f"Cannot listen on {host}:{port} ({error.strerror or error}).",
                "Name another port, or 0 for a free one.",
            )
        ) from error
    return bound
