"""JSON-RPC messages, read and sent, with results that may already be encoded."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

import msgspec
from cattrs.v import format_exception, transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException
from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from citewell.lsp.protocol.open_document import DocumentStore
from citewell.lsp.protocol.wire import Encoded, Refused
from citewell.model.cancel import give_way_on_this_thread
from citewell.model.display_text import whole_texts
from citewell.model.system.child_process import take_pipes

# Pending requests: background threads check for them, and pause meanwhile.

LONGEST = 0.05
"""Maximum seconds of a background pause after the last message: the answer may itself wait for
papers, or for the network."""
CALM = 0.004
"""Seconds after an answer or a message within which another request is likely."""
PATIENCE, SLICE = 0.25, 0.005
"""Seconds of uninterrupted waiting after which a thread may work anyway, and the duration."""
NAP = 0.002
PATIENT = frozenset({types.TEXT_DOCUMENT_DIAGNOSTIC, types.WORKSPACE_DIAGNOSTIC})
"""Requests that the background threads answer themselves."""


class RequestPriority:
    """Tracks unanswered requests. `arrived` and `give_way` are thread-safe, the other methods for
    the event loop."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()
        self._calm = self._until = self._free = 0.0

    def arrived(self) -> None:
        """Record a message from the editor."""
        now = time.monotonic()
        self._calm, self._until = now + CALM, now + LONGEST

    def begin(self, number: str | int, method: str) -> None:
        """Record the start of an answer."""
        if method not in PATIENT:
            self._open.add(number)

    def end(self, number: str | int) -> None:
        """Record an answered request."""
        if number in self._open:
            self._open.remove(number)
            self._calm = time.monotonic() + CALM

    def give_way(self) -> None:
        """Wait while an answer is due, or another request is likely."""
        now = time.monotonic()
        if self._is_calm(now) or now < self._free:
            return
        limit = now + PATIENCE
        # Sleep rather than wait for a lock: its release would wake this thread, which would then
        # compete for the interpreter in the middle of the next answer.
        while not self._is_calm(now):
            if now >= limit:
                self._free = now + SLICE
                return
            time.sleep(NAP)
            now = time.monotonic()

    def _is_calm(self, now: float) -> bool:
        return now >= (self._until if self._open else self._calm)

    def background(self, name: str) -> ThreadPoolExecutor:
        """A thread for background work that gives way."""
        return ThreadPoolExecutor(
            1,
            thread_name_prefix=name,
            initializer=give_way_on_this_thread,
            initargs=(self.give_way,),
        )


class Protocol(LanguageServerProtocol):
    """The protocol over `DocumentStore`."""

    _store: DocumentStore | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sending: set[asyncio.Future[Any]] = set()
        self.is_closed = False
        """True once the client is gone: nothing more is sent."""
        self.on_capabilities: Callable[[types.ServerCapabilities], None] | None = None
        """Called with the server's capabilities before they are sent to the client."""
        self.request_priority = RequestPriority()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message as an object of the library's types. An invalid request, such as one without
        its position or with a negative one, gets an error response: the library would only log it,
        and the client would wait."""
        if "jsonrpc" in data:
            data = whole_texts(data)
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            number, method = data.get("id"), data.get("method")
            if isinstance(number, int | str) and method is not None:
                cause = error.__cause__
                reasons = (
                    "; ".join(transform_error(cause, format_exception=_reason)) if cause else ""
                )
                answer = types.ResponseError(
                    code=error.code, message=f"{error.message}: {method}: {reasons}"
                )
                self._send_response(number, error=answer)
            raise

    def handle_message(self, message: Any) -> None:
        """Handle a message; long work elsewhere pauses while a request is being answered."""
        number, method = getattr(message, "id", None), getattr(message, "method", None)
        if number is not None and method is not None:
            self.request_priority.begin(number, method)
        super().handle_message(message)

    def _execute_handler(self, msg_id: str | int, *arguments: Any, **options: Any) -> None:
        """Call a handler. pygls would keep the results of notification handlers forever."""
        super()._execute_handler(msg_id, *arguments, **options)

        def forget(done: object) -> None:
            if self._request_futures.get(msg_id) is done:
                del self._request_futures[msg_id]

        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(forget)

    def _run_generator(
        self,
        future: Future[Any] | None,
        *,
        gen: Generator[Any, Any, Any],
        result_future: Future[Any],
    ) -> None:
        """Run a step of a built-in handler; cancelling it also cancels its delegate. pygls cancels
        only the built-in handler of a command, and the command itself runs on."""
        before = set(self._request_futures)
        super()._run_generator(future, gen=gen, result_future=result_future)
        handed = [f for number, f in self._request_futures.items() if number not in before]

        def end(done: Future[Any]) -> None:
            if done.cancelled():
                for inner in handed:
                    inner.cancel()

        if handed:
            result_future.add_done_callback(end)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *arguments: Any) -> Generator[Any, Any, None]:
        """Cancel pending requests, then answer. pygls fails here while a command runs: it iterates
        over the requests, and a cancelled one is removed from them."""
        handler = self.fm.features.get(types.SHUTDOWN)
        if handler is not None:
            yield handler, arguments, None
        own = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != own:
                future.cancel()
        self._shutdown = True

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        """Answer a request. Being overtaken by an edit is normal while typing: pygls would log it
        as an error, with a traceback."""
        error = None if future.cancelled() else future.exception()
        if not isinstance(error, JsonRpcContentModified):
            super()._send_handler_result(future, msg_id=msg_id)
            return
        self._request_futures.pop(msg_id, None)
        self._send_response(msg_id, error=error.to_response_error())

    def _send_response(
        self, msg_id: str | int, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        """Send an answer. An encoded one is sent unchanged: encoding thousands of objects here
        would delay every other request."""
        if isinstance(result, types.InitializeResult) and self.on_capabilities is not None:
            self.on_capabilities(result.capabilities)
        try:
            self._send_result(msg_id, result, error)
        finally:
            self.request_priority.end(msg_id)

    def _send_result(
        self, msg_id: str | int, result: Any, error: types.ResponseError | None
    ) -> None:
        if isinstance(result, Refused):
            code = types.LSPErrorCodes.RequestFailed.value
            result, error = None, types.ResponseError(code=code, message=result.message)
        if error is not None or not isinstance(result, Encoded) or self.writer is None:
            super()._send_response(msg_id, result, error)
            return
        self._result_types.pop(msg_id, None)
        number = msgspec.json.encode(msg_id)
        self._write(b'{"jsonrpc":"2.0","id":%b,"result":' % number, result.data, b"}")

    def _send_data(self, data: Any) -> None:
        if not self.is_closed:
            super()._send_data(data)

    def notify_encoded(self, method: str, *params: bytes) -> None:
        """Send a notification with encoded parameters, in one piece or several."""
        head = b'{"jsonrpc":"2.0","method":"%b","params":' % method.encode()
        self._write(head, *params, b"}")

    def _write(self, *body: bytes | bytearray) -> None:
        """Send a message made of these parts."""
        if self.writer is None or self.is_closed:
            return
        length = sum(map(len, body))
        head = b"Content-Length: %d\r\n\r\n" % length if self._include_headers else b""
        sent = self.writer.write(b"".join((head, *body)))
        if inspect.isawaitable(sent):
            self._sending.add(task := asyncio.ensure_future(sent))
            task.add_done_callback(self._sending.discard)

    @property
    def workspace(self) -> DocumentStore:
        base = super().workspace
        if self._store is None:
            self._store = DocumentStore(
                base.root_uri, base._sync_kind, None, base.position_encoding
            )
            for folder in base.folders.values():
                self._store.add_folder(folder)
        return self._store


def _reason(error: BaseException, kind: type | None) -> str:
    """The error in a part of a message; a `ValueError`, as of bounds, keeps its own text."""
    return str(error) if type(error) is ValueError else format_exception(error, kind)


def foreground_of(server: LanguageServer) -> RequestPriority:
    """The record of a server's unanswered requests."""
    protocol = server.protocol
    assert isinstance(protocol, Protocol)
    return protocol.request_priority


# Transports: the server's own pipes, or one TCP connection.

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
    """Writes to the editor. Writing to a closed editor is no error: the reader detects the end."""

    def write(self, data: bytes) -> None:
        try:
            super().write(data)
        except BrokenPipeError:
            logger.info("The editor is gone")


def _pump(
    source: int,
    reader: asyncio.StreamReader,
    loop: asyncio.AbstractEventLoop,
    arrived: Callable[[], None],
) -> None:
    """Pass on data as it arrives. One switch between threads per message: the library's own reader
    takes three, each of which waits for its turn on a busy machine."""
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
    """Serve one connection, then return. The log has the address, for port 0."""
    sys.stdout = sys.stderr
    asyncio.run(_serve_tcp(server, host, port))


async def _serve_tcp(server: LanguageServer, host: str, port: int) -> None:
    done = asyncio.Event()
    ended: list[SystemExit] = []
    """The exit requested by the client, which a callback must not raise."""
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
