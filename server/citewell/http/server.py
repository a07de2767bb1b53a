"""The application on a socket, behind the guards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from citewell import __version__
from citewell.engine.pool import WorkerPool
from citewell.engine.worker_client import WorkerEngine
from citewell.http.app import create_app
from citewell.http.docs_page import PATHS
from citewell.model.system.json_log import log_as_json
from citewell.options import Options
from citewell.serving.address import BasePath, bind, url_of
from citewell.serving.guard import HTTP_TOKEN, Admission, Buckets, NameGuard, RateLimit, TokenGuard
from citewell.serving.metrics import MeteredEngine, Metrics
from citewell.serving.observed import observed
from citewell.serving.run import run_app

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    Page = Callable[[ASGIApp], ASGIApp]
    """Wraps an application to also serve the web page."""


class Listening(msgspec.Struct, frozen=True):
    """The line with the address of the server."""

    url: str
    pid: int
    version: str


def serve_engine(
    options: Options,
    engine: WorkerEngine | WorkerPool,
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    page: Page | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal ends it; `on_start` is called with the address once connections are
    accepted. Raises `CitewellError` for an unavailable address."""
    own = options.serve
    logs = own.log_format == "json"
    if logs:
        log_as_json()
    # A public demo without a token does not show them.
    metrics = Metrics() if own.metrics and (token or not own.read_only) else None
    bound = bind(host, port, token=token, variable=HTTP_TOKEN, public=own.read_only)
    port = int(bound.getsockname()[1])
    engine.start()
    served = MeteredEngine(engine, metrics) if metrics is not None else engine
    app = guarded_app(
        create_app(options, served, metrics=metrics),
        Admission.at(
            host,
            port,
            token=token,
            origins=origins,
            hosts=allowed_hosts,
            pages=("/",) if page else (),
        ),
        origins,
        page,
        rate_limit=own.rate_limit,
        base_path=own.base_path,
    )
    app = observed(app, metrics, logs=logs)

    def announce() -> None:
        line = Listening(url_of(host, port), os.getpid(), __version__)
        print(msgspec.json.encode(line).decode(), file=sys.stdout, flush=True)  # noqa: T201
        if on_start is not None:
            on_start(line.url)

    run_app(app, bound, announce, proxies=own.proxies, own_log=logs)


def guarded_app(
    app: ASGIApp,
    admission: Admission,
    origins: Sequence[str] = (),
    page: Page | None = None,
    *,
    rate_limit: int = 0,
    base_path: str = "",
) -> ASGIApp:
    """The application behind names, origins, rate limit and token. Pages of the listed origins may
    read the answers (CORS); no others may."""
    if admission.token:
        app = TokenGuard(app, admission.token, PATHS)
    if rate_limit:
        # Outside the token check, against guessing the token.
        app = RateLimit(app, Buckets(rate_limit))
    if page is not None:
        # Outside the token check, since no link can carry a token: the page contains no data.
        app = page(app)
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        # Outside the token check: a browser's preflight request has no token.
        app = CORSMiddleware(
            app,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            max_age=600,
        )
    app = NameGuard(app, admission)
    return BasePath(app, base_path) if base_path else app
