"""The language server: translates the protocol to and from plain data, nothing else."""

from __future__ import annotations

import gc
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["serve"]


def serve(
    *,
    host: str = "",
    port: int = 0,
    overrides: Mapping[str, Any] | None = None,
    user_file: Path | None = None,
) -> None:
    """Serve one editor over stdin and stdout, or over TCP when a host is named; returns at its end.

    `overrides` and `user_file` are those of `citewell.options.merge`. Port 0 takes a free port; the
    log names it.
    """
    # Hundreds of thousands of objects are created, and all stay: visiting them repeatedly would
    # take a tenth of the start.
    gc.disable()
    from citewell.lsp.protocol.lazy_types import load_types

    load_types()
    from citewell.lsp.protocol.jsonrpc import serve_stdio, serve_tcp
    from citewell.lsp.server import create_server

    # The protocol's library logs each message at level INFO.
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        logging.getLogger("pygls").setLevel(logging.WARNING)
    server = create_server(overrides, user_file)
    gc.freeze()
    gc.enable()
    if host:
        serve_tcp(server, host, port)
    else:
        serve_stdio(server)
