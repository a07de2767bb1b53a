"""The engine for scripts, web editors and other languages: translates JSON over HTTP."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command

if TYPE_CHECKING:
    from citewell.http.server import Page
    from citewell.options import Options

__all__ = ["serve"]

RATE_LIMIT = 120
"""Requests per minute from one client of a public demo, if the settings have no limit."""


def serve(
    options: Options,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    page: Page | None = None,
    on_start: Callable[[str], None] | None = None,
    read_only: bool = False,
) -> None:
    """Serve programs at http://HOST:PORT until a signal ends it. Port 0 takes a free one; one line
    of JSON on standard output has the address, with which `on_start` is called. `page` adds the web
    page. `origins` and `allowed_hosts` join those of the settings; `read_only` serves a public
    demo.

    Raises `CitewellError` for a missing package, for an address that is taken, and for one that
    other machines can reach without a token or `read_only`.
    """
    for name in ("starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise CitewellError(
                Problem(
                    "http-missing",
                    f"The package {name} is not installed.",
                    f"Install it: `{install_command('http')}`.",
                )
            )
    from citewell.engine.pool import open_workers
    from citewell.http.server import serve_engine

    if read_only or options.serve.read_only:
        options = public_options(options)
    engine = open_workers(options)
    try:
        serve_engine(
            options,
            engine,
            host,
            port,
            token=token,
            origins=(*options.serve.allow_origins, *origins),
            allowed_hosts=(*options.serve.allow_hosts, *allowed_hosts),
            page=page,
            on_start=on_start,
        )
    finally:
        engine.close()


def public_options(options: Options) -> Options:
    """The settings of a public demo: no sources, no language model, no learning, a rate limit."""
    from msgspec.structs import replace

    serve = options.serve
    return replace(
        options,
        sources=replace(options.sources, allow=(), keep=False),
        llm=replace(options.llm, provider="none", rerank="none", reformulate=False),
        learning=replace(options.learning, enabled=False),
        serve=replace(serve, read_only=True, rate_limit=serve.rate_limit or RATE_LIMIT),
    )
