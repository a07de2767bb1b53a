"""The application on a socket, behind the guards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from citewell import __version__
from citewell.engine.worker_client import WorkerEngine
from citewell.http.app import create_app
from citewell.http.docs_page import PATHS
from citewell.options import Options
from citewell.serving.address import bind, url_of
from citewell.serving.guard import Admission, NameGuard, TokenGuard
from citewell.serving.run import run_app
from citewell.serving.token import HTTP_TOKEN

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    Page = Callable[[ASGIApp], ASGIApp]
    """Wraps an application to serve the web page too."""


class Listening(msgspec.Struct, frozen=True):
    """The line with the address of the server."""

    url: str
    pid: int
    version: str


def serve_engine(
    options: Options,
    engine: WorkerEngine,
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
    accepted. Raises `CitewellError` for an address that cannot be had."""
    bound = bind(host, port, token=token, variable=HTTP_TOKEN)
    port = int(bound.getsockname()[1])
    engine.start()
    app = guarded_app(
        create_app(options, engine),
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
    )

    def announce() -> None:
        line = Listening(url_of(host, port), os.getpid(), __version__)
        print(msgspec.json.encode(line).decode(), file=sys.stdout, flush=True)  # noqa: T201
        if on_start is not None:
            on_start(line.url)

    run_app(app, bound, announce)


def guarded_app(
    app: ASGIApp,
    admission: Admission,
    origins: Sequence[str] = (),
    page: Page | None = None,
) -> ASGIApp:
    """The application behind names, origins and token. Pages of the named origins may read the
    answers (CORS); without any, no other page may."""
    if admission.token:
        app = TokenGuard(app, admission.token, PATHS)
    if page is not None:
        # Before the token, which no link can carry: the page holds no data.
        app = page(app)
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        # Before the token: a browser asks whether it may send one without sending it.
        app = CORSMiddleware(
            app,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            max_age=600,
        )
    return NameGuard(app, admission)
