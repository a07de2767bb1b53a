"""The engine for agents: translates the Model Context Protocol to and from plain data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.options import Options

__all__ = ["serve"]


def serve(
    options: Options,
    *,
    roots: Sequence[Path] = (),
    allow_write: bool = False,
    confirm: bool = True,
    host: str = "",
    port: int = 0,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve agents over stdin and stdout, or over HTTP when a host is named; returns at its end.
    `allowed_hosts` join those of the settings.

    Raises `CitewellError` when a root is no folder, or an address beyond this machine is asked for
    without a token.
    """
    from citewell.engine.pool import open_workers
    from citewell.engine.worker_client import WorkerEngine
    from citewell.mcp.roots import Roots
    from citewell.mcp.server import create_server
    from citewell.mcp.transport import serve_http, serve_stdio
    from citewell.serving.metrics import MeteredEngine, Metrics

    opened = Roots.open(roots)
    if allow_write and not opened.folders:
        raise CitewellError(
            Problem(
                "mcp-no-root",
                "Writing is allowed, but no folder is given.",
                "Give the writable folders: `citewell mcp --allow-write --root FOLDER`.",
            )
        )
    # On pipes there is one agent, which waits for each answer.
    engine = open_workers(options) if host else WorkerEngine(options)
    metrics = Metrics() if host and options.serve.metrics else None
    served = MeteredEngine(engine, metrics) if metrics is not None else engine
    try:
        server = create_server(
            options, served, opened, allow_write=allow_write, confirm=confirm, shared=bool(host)
        )
        if host:
            serve_http(
                server, host, port, settings=options.serve, token=token, origins=origins,
                allowed_hosts=(*options.serve.allow_hosts, *allowed_hosts), metrics=metrics,
                start=engine.start,
            )  # fmt: skip
        else:
            serve_stdio(server)
    finally:
        engine.close()
