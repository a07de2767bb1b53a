"""How agents reach the server: standard input and output, or HTTP on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from citewell.serving.address import bind, url_of
from citewell.serving.guard import Admission, guarded
from citewell.serving.rate_limit import Buckets, RateLimit
from citewell.serving.run import run_app
from citewell.serving.token import MCP_TOKEN

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MAX_BODY = 2 * 1024 * 1024
"""Bytes of one request over HTTP."""
MAX_SESSIONS = 200
IDLE_SECONDS = 900.0


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one agent; returns when it closes standard input."""
    server.run()


def serve_http(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    rate_limit: int = 0,
    start: Callable[[], None] = lambda: None,
) -> None:
    """Serve many agents at http://HOST:PORT/mcp until interrupted. Port 0 takes a free one; the
    address is written to standard error. `rate_limit` is the maximum of requests per minute from
    one client address, 0 none; `start` is called once the address is bound. Raises `CitewellError`
    for an address that is taken, or that reaches beyond this machine without a token."""
    import sys

    bound = bind(host, port, token=token, variable=MCP_TOKEN)
    port = int(bound.getsockname()[1])
    start()
    app = http_app(server, host, port, token=token, origins=origins, allowed_hosts=allowed_hosts)
    if rate_limit:
        app = RateLimit(app, Buckets(rate_limit))

    def announce() -> None:
        print(f"Citewell listens on {url_of(host, port)}/mcp", file=sys.stderr, flush=True)  # noqa: T201

    run_app(app, bound, announce)


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
    app = server.streamable_http_app(
        host=host,
        max_request_body_size=MAX_BODY,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
        # The guard that all servers of Citewell share wraps it.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return guarded(app, Admission.at(host, port, token=token, origins=origins, hosts=allowed_hosts))
