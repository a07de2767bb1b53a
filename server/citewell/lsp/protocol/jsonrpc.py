"""The protocol on the wire: messages read and sent, with results that may be encoded already."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import Any, runtime_checkable
from typing import Protocol as TypingProtocol

import msgspec
from cattrs.v import format_exception, transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from citewell.lsp.protocol.open_document import DocumentStore
from citewell.lsp.protocol.request_priority import RequestPriority
from citewell.lsp.protocol.wire import Encoded, Refused

_LONG = 1 << 16
"""Bytes from which the parts of a message are not put together, where the writer takes parts."""


@runtime_checkable
class PartWriter(TypingProtocol):
    """A connection that takes a message in parts."""

    def write_parts(self, parts: Sequence[bytes | bytearray]) -> None:
        """Write them one after the other."""


class Protocol(LanguageServerProtocol):
    """The protocol over `DocumentStore`."""

    _store: DocumentStore | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sending: set[asyncio.Future[Any]] = set()
        self.is_closed = False
        """True once the client is gone: nothing is sent from then on."""
        self.on_capabilities: Callable[[types.ServerCapabilities], None] | None = None
        """Called with the server's capabilities before they are sent to the client."""
        self.request_priority = RequestPriority()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message as an object of the library's types. An invalid request, such as one without
        its position or with a negative one, is answered with an error: the library would only log
        it, and the client would wait."""
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
        """Handle a message; while a request is being answered, long work elsewhere pauses."""
        number, method = getattr(message, "id", None), getattr(message, "method", None)
        if number is not None and method is not None:
            self.request_priority.begin(number, method)
        super().handle_message(message)

    def _run_generator(
        self,
        future: Future[Any] | None,
        *,
        gen: Generator[Any, Any, Any],
        result_future: Future[Any],
    ) -> None:
        """Run a step of a built-in handler; cancelling it also cancels what it delegates to.

        pygls cancels only the built-in handler of a command, and the command itself runs on.
        """
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
        """Cancel what is in flight, then answer.

        pygls fails here while a command runs: it iterates over the requests, and a cancelled one
        is removed from them.
        """
        handler = self.fm.features.get(types.SHUTDOWN)
        if handler is not None:
            yield handler, arguments, None
        own = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != own:
                future.cancel()
        self._shutdown = True

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        """Answer a request. That an edit has overtaken it is what typing does: pygls would log it
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
        """Send an answer. One that is encoded already is sent as it is: encoding thousands of
        objects here would delay every other request."""
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
        """Send a notification whose parameters are encoded already, in one piece or several."""
        head = b'{"jsonrpc":"2.0","method":"%b","params":' % method.encode()
        self._write(head, *params, b"}")

    def _write(self, *body: bytes | bytearray) -> None:
        """Send the parts of a message: one may have ten megabytes, and is not copied again."""
        if self.writer is None or self.is_closed:
            return
        length = sum(map(len, body))
        head = b"Content-Length: %d\r\n\r\n" % length if self._include_headers else b""
        if length > _LONG and isinstance(self.writer, PartWriter):
            self.writer.write_parts((head, *body))
            return
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
    """What is wrong with a part of a message; a `ValueError`, as of bounds, keeps its own text."""
    return str(error) if type(error) is ValueError else format_exception(error, kind)


def foreground_of(server: LanguageServer) -> RequestPriority:
    """The record of the requests that a server has not answered yet."""
    protocol = server.protocol
    assert isinstance(protocol, Protocol)
    return protocol.request_priority
