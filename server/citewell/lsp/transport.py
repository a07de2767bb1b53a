"""How the server is reached: its own pipes, or one TCP connection."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from threading import Event
from typing import BinaryIO

from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)


def serve_stdio(server: LanguageServer) -> None:
    """Serve on private copies of stdin and stdout.

    Afterwards descriptor 0 is empty and 1 is stderr: no print of any library, and no child, can
    write into the protocol or read from it.
    """
    source, sink = _take_pipes()
    server.start_io(source, sink)


def serve_tcp(server: LanguageServer, host: str, port: int) -> None:
    """Serve one connection, then return. The log says where, for port 0."""
    sys.stdout = sys.stderr
    asyncio.run(_serve_tcp(server, host, port))


async def _serve_tcp(server: LanguageServer, host: str, port: int) -> None:
    done = asyncio.Event()
    taken = False

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        if taken:
            writer.close()
            return
        taken = True
        server.protocol.set_writer(writer)
        try:
            await run_async(
                stop_event=Event(),
                reader=reader,
                protocol=server.protocol,
                logger=logger,
                error_handler=server.report_server_error,
            )
        finally:
            done.set()

    listener = await asyncio.start_server(connected, host, port)
    for socket in listener.sockets:
        address = socket.getsockname()
        print(f"citewell listens on {address[0]}:{address[1]}", file=sys.stderr, flush=True)  # noqa: T201
    await done.wait()
    listener.close()
    server.shutdown()  # type: ignore[no-untyped-call]


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")
