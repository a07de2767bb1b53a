"""How the server is reached: its own pipes, or one TCP connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO

from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer

from citewell.engine.pipes import take_pipes
from citewell.lsp.protocol.jsonrpc import foreground_of

logger = logging.getLogger(__name__)


def serve_stdio(server: LanguageServer) -> None:
    """Serve on private copies of stdin and stdout; raises `SystemExit` with the protocol's code.

    Afterwards descriptor 0 is empty and 1 is stderr: no print of any library, and no child, can
    write into the protocol or read from it.
    """
    source, sink = take_pipes()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(_serve_pipes(server, source, os.fdopen(sink, "wb")))


async def _serve_pipes(server: LanguageServer, source: int, sink: BinaryIO) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    arrived = foreground_of(server).arrived
    threading.Thread(target=_pump, args=(source, reader, loop, arrived), daemon=True).start()
    server.protocol.set_writer(_PipeWriter(sink))
    await _serve(server, reader)


class _PipeWriter(StdoutWriter):
    """Writes to the editor. One that is gone reads nothing more, which is no error: that it is gone
    the reader finds out."""

    def write(self, data: bytes) -> None:
        self.write_parts((data,))

    def write_parts(self, parts: Sequence[bytes | bytearray]) -> None:
        """Write a message. What is longer than the buffer of the stream is not copied into it."""
        try:
            self._stdout.writelines(parts)
            self._stdout.flush()
        except BrokenPipeError:
            logger.info("The editor is gone")


def _pump(
    source: int,
    reader: asyncio.StreamReader,
    loop: asyncio.AbstractEventLoop,
    arrived: Callable[[], None],
) -> None:
    """Hand over what arrives, as it arrives. One hop between threads per message: the library's own
    reader takes three, each of which waits for a turn on a busy machine."""
    with contextlib.suppress(RuntimeError):  # the loop has ended
        try:
            while data := os.read(source, 1 << 20):
                arrived()
                loop.call_soon_threadsafe(reader.feed_data, data)
        except OSError as error:
            logger.error("Reading from the editor failed: %s", error)
        loop.call_soon_threadsafe(reader.feed_eof)


async def _serve(server: LanguageServer, reader: asyncio.StreamReader) -> None:
    try:
        await run_async(
            stop_event=threading.Event(),
            reader=reader,
            protocol=server.protocol,
            logger=logger,
            error_handler=server.report_server_error,
        )
    except asyncio.IncompleteReadError:
        logger.error("The editor ended in the middle of a message")
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]


def serve_tcp(server: LanguageServer, host: str, port: int) -> None:
    """Serve one connection, then return. The log says where, for port 0."""
    sys.stdout = sys.stderr
    asyncio.run(_serve_tcp(server, host, port))


async def _serve_tcp(server: LanguageServer, host: str, port: int) -> None:
    done = asyncio.Event()
    ended: list[SystemExit] = []
    """The end that the client asked for, which a callback must not raise."""
    taken = False

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        if taken:
            writer.close()
            return
        taken = True
        server.protocol.set_writer(writer)
        try:
            await _serve(server, reader)
        except SystemExit as end:
            ended.append(end)
        finally:
            done.set()

    listener = await asyncio.start_server(connected, host, port)
    for socket in listener.sockets:
        address = socket.getsockname()
        print(f"citewell listens on {address[0]}:{address[1]}", file=sys.stderr, flush=True)  # noqa: T201
    await done.wait()
    listener.close()
    for end in ended:
        raise end
