"""How agents reach the server: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from citewell.mcp.request_labels import PATH, labelled
from citewell.model.json_log import FIELDS, log_as_json
from citewell.options.serve import ServeOptions
from citewell.serving.address import bind, url_of
from citewell.serving.base_path import BasePath
from citewell.serving.guard import Admission, guarded
from citewell.serving.metrics import Metrics
from citewell.serving.metrics_route import metrics_routes
from citewell.serving.observed import observed
from citewell.serving.rate_limit import Buckets, RateLimit
from citewell.serving.run import run_app
from citewell.serving.token import MCP_TOKEN

if TYPE_CHECKING:
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

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
    settings: ServeOptions,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    metrics: Metrics | None = None,
    start: Callable[[], None] = lambda: None,
) -> None:
    """Serve many agents at http://HOST:PORT/mcp until interrupted. Port 0 takes a free one; the
    address is written to standard error, as a line of JSON where the log has such. Of the
    `settings` the rate limit, the format of the log, and base path and addresses of proxies hold
    here; `metrics` are shown under /metrics; `start` is called once the address is bound. Raises
    `CitewellError` for an address that is taken, or that reaches beyond this machine without a
    token."""
    logs = settings.log_format == "json"
    if logs:
        log_as_json()
        logger.setLevel(logging.INFO)
    bound = bind(host, port, token=token, variable=MCP_TOKEN)
    port = int(bound.getsockname()[1])
    start()
    app = http_app(
        server, host, port, token=token, origins=origins, allowed_hosts=allowed_hosts,
        metrics=metrics,
    )  # fmt: skip
    if settings.rate_limit:
        app = RateLimit(app, Buckets(settings.rate_limit))
    if settings.base_path:
        app = BasePath(app, settings.base_path)
    app = observed(app, metrics, logs=logs)

    def announce() -> None:
        url = url_of(host, port) + PATH
        if logs:
            logger.info("Citewell listens on %s", url, extra={FIELDS: {"url": url}})
        else:
            print(f"Citewell listens on {url}", file=sys.stderr, flush=True)  # noqa: T201

    run_app(app, bound, announce, proxies=settings.proxies, own_log=logs)


def http_app(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    metrics: Metrics | None = None,
) -> ASGIApp:
    """The ASGI application: foreign hosts and origins are refused, bodies are bounded. It shows
    `metrics` under /metrics."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=host,
        max_request_body_size=MAX_BODY,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
        # The guard that all servers of Citewell share wraps it.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.router.routes.extend(metrics_routes(metrics))
    return guarded(
        labelled(app), Admission.at(host, port, token=token, origins=origins, hosts=allowed_hosts)
    )
