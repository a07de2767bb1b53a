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
) -> None:
    """Serve programs at http://HOST:PORT until a signal ends it. Port 0 takes a free one; one line
    of JSON on standard output has the address, with which `on_start` is called. `page` adds the web
    page.

    Raises `CitewellError` when a library is missing that this needs, or for an address that is
    taken, or that reaches beyond this machine without a token.
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
    from citewell.engine.worker_client import WorkerEngine
    from citewell.http.server import serve_engine

    engine = WorkerEngine(options)
    try:
        serve_engine(
            options,
            engine,
            host,
            port,
            token=token,
            origins=origins,
            allowed_hosts=allowed_hosts,
            page=page,
            on_start=on_start,
        )
    finally:
        engine.close()
