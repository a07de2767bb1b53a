"""Open documents, with positions as the protocol defines them.

A line ends at LF, CRLF or CR and nowhere else, and a character counts 1 to 4 units in the
negotiated encoding. The library's own documents split lines as `str.splitlines` does (form feeds,
U+2028 ...), which shifts every line below such a character; so both are done here.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from itertools import accumulate
from typing import Any

import msgspec
from cattrs.v import format_exception, transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.workspace import TextDocument, Workspace

from citewell.lsp.protocol.request_priority import RequestPriority
from citewell.lsp.protocol.wire import Encoded, Position, Range, Refused
from citewell.model.document import Span

_LINE_END = re.compile(r"\r\n|\n|\r")
FEW_EDITS = 8
FEW_LINES = 2_000
"""Below an edit; of more an array is made at once."""
_UNIT = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends; at least one, and the last has no end."""
    lines: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines


def units(text: str, encoding: str) -> int:
    """Length of `text` in the units of a position encoding ("utf-8", "utf-16", "utf-32")."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    codec, size = _UNIT[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def code_points(text: str, count: int, encoding: str) -> int:
    """How many characters of `text` its first `count` units hold; all when there are fewer."""
    if count <= 0:
        return 0
    if encoding == "utf-32" or text.isascii():
        return min(count, len(text))
    codec, size = _UNIT[encoding]
    data = text.encode(codec, "surrogatepass")
    end = min(count * size, len(data))
    while _inside_character(data, end, size):
        end -= size
    return len(data[:end].decode(codec, "surrogatepass"))


def _inside_character(data: bytes, at: int, size: int) -> bool:
    if not 0 < at < len(data):
        return False
    if size == 1:
        return data[at] & 0xC0 == 0x80
    if size == 2:
        return data[at + 1] & 0xFC == 0xDC and data[at - 1] & 0xFC == 0xD8
    return False


class LineIndex:
    """Offsets (code points) <-> positions (line, units) of one text. Never raises on a position."""

    def __init__(
        self, lines: Sequence[str], encoding: str, starts: array[int] | None = None
    ) -> None:
        """`starts`, if they are known, are the offsets of the lines and of the text's end."""
        self._lines = lines
        self._encoding = encoding
        # Numbers in an array: as objects those of a large file would take as much as its text.
        self._starts = (
            array("q", accumulate(map(len, lines), initial=0)) if starts is None else starts
        )

    @property
    def encoding(self) -> str:
        """The position encoding of the index."""
        return self._encoding

    @property
    def starts(self) -> array[int]:
        """The offsets of the lines, and of the text's end. Not to be changed."""
        return self._starts

    @classmethod
    def of(cls, text: str, encoding: str) -> LineIndex:
        """The index of a text that is not open in the editor."""
        return cls(split_lines(text), encoding)

    def offset(self, position: types.Position) -> int:
        """The offset of a position; past a line's end counts as its end, past the text as its."""
        if position.line >= len(self._lines):
            return self._starts[-1]
        line = self._lines[position.line]
        column = code_points(line.rstrip("\r\n"), position.character, self._encoding)
        return self._starts[position.line] + column

    def position(self, offset: int) -> types.Position:
        """The position of an offset, which is held inside the text."""
        offset = max(0, min(offset, self._starts[-1]))
        line = self._line_at(offset)
        head = self._lines[line][: offset - self._starts[line]]
        return types.Position(line=line, character=units(head, self._encoding))

    def line_end(self, line: int) -> int:
        """The offset at which a line's text ends, before its line end."""
        if line >= len(self._lines):
            return self._starts[-1]
        return self._starts[line] + len(self._lines[line].rstrip("\r\n"))

    def places(self, span: Span) -> tuple[int, int, int, int]:
        """Line and character of both ends. The fast way for many spans that stand on one line."""
        last = self._starts[-1]
        begin, end = min(max(0, span.start), last), min(max(0, span.end), last)
        line = self._line_at(begin)
        start, text = self._starts[line], self._lines[line]
        if begin <= end < start + len(text):
            if text.isascii():
                return line, begin - start, line, end - start
            head = units(text[: begin - start], self._encoding)
            return line, head, line, units(text[: end - start], self._encoding)
        one, other = self.position(begin), self.position(end)
        return one.line, one.character, other.line, other.character

    def wire_range(self, span: Span) -> Range:
        """The range of a span in the form that is encoded without the library."""
        line, character, last, end = self.places(span)
        return Range(Position(line, character), Position(last, end))

    def range(self, span: Span) -> types.Range:
        return types.Range(start=self.position(span.start), end=self.position(span.end))

    def span(self, range_: types.Range) -> Span:
        return Span(self.offset(range_.start), self.offset(range_.end))

    def _line_at(self, offset: int) -> int:
        return min(bisect_right(self._starts, offset) - 1, len(self._lines) - 1)


class OpenDocument(TextDocument):
    """A document the editor has open. An edit costs what it touches, not what the file holds."""

    def __init__(
        self, uri: str, text: str, version: int | None, language: str | None, encoding: str
    ) -> None:
        super().__init__(uri, source="", version=version, language_id=language)
        self.encoding = encoding
        self._text_lines = split_lines(text)
        self._joined: str | None = text
        self._index: LineIndex | None = None
        self._starts: array[int] | None = None
        """What the index will need, where it is known."""
        self._edits = 0
        """Since the text or the index was asked for."""

    @property
    def lines(self) -> Sequence[str]:
        return self._text_lines

    @property
    def source(self) -> str:
        if self._joined is None:
            self._joined = "".join(self._text_lines)
        self._edits = 0
        return self._joined

    @property
    def index(self) -> LineIndex:
        """Positions of the present version."""
        if self._index is None:
            self._index = LineIndex(self._text_lines, self.encoding, self._starts)
            self._starts = self._index.starts
        self._edits = 0
        return self._index

    def before(self, position: types.Position, characters: int) -> str:
        """Up to so many characters that stand before a position, without joining the text."""
        if position.line >= len(self._text_lines):
            return ""
        line = self._text_lines[position.line]
        parts = [line[: code_points(line.rstrip("\r\n"), position.character, self.encoding)]]
        length, number = len(parts[0]), position.line - 1
        while length < characters and number >= 0:
            parts.append(self._text_lines[number])
            length += len(parts[-1])
            number -= 1
        return "".join(reversed(parts))[-characters:]

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change notification; a range outside the text is held inside it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._replace(change.range, change.text)
        else:
            self._text_lines = split_lines(change.text)
            self._joined, self._starts = change.text, None
        self._index = None

    def _replace(self, range_: types.Range, text: str) -> None:
        if self._index is not None:
            # Somebody may still ask for positions of this version.
            self._text_lines = list(self._text_lines)
        lines = self._text_lines
        first, start = self._place(range_.start)
        last, end = self._place(range_.end)
        if (last, end) < (first, start):
            first, start, last, end = last, end, first, start
        # A few edits are made in the text and the offsets, too, which costs less than to put them
        # together anew from a hundred thousand lines; of many at once each would copy them.
        self._edits += 1
        starts, whole = self._starts, self._joined
        if self._edits > FEW_EDITS or starts is None:
            self._starts = self._joined = None
        elif whole is not None:
            self._joined = whole[: starts[first] + start] + text + whole[starts[last] + end :]
        joined = lines[first][:start] + text + lines[last][end:]
        # A lone CR at a seam may have met its LF: the neighbours are split again with it.
        if first > 0 and joined.startswith("\n"):
            first -= 1
            joined = lines[first] + joined
        if joined.endswith("\r") and last + 1 < len(lines):
            last += 1
            joined += lines[last]
        new = split_lines(joined)
        if last + 1 < len(lines) and new[-1] == "":
            new.pop()
        if self._starts is not None:
            self._starts = _moved(self._starts, first, last, new)
        self._text_lines[first : last + 1] = new

    def _place(self, position: types.Position) -> tuple[int, int]:
        lines = self._text_lines
        if position.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        line = lines[position.line]
        return position.line, code_points(line.rstrip("\r\n"), position.character, self.encoding)


def _moved(starts: array[int], first: int, last: int, new: Sequence[str]) -> array[int]:
    """The offsets of the lines when `new` stands in place of lines `first` to `last`."""
    begin, after = starts[first], starts[last + 1]
    moved = begin + sum(map(len, new)) - after
    found = starts[:first]
    found.extend(accumulate(map(len, new[:-1]), initial=begin) if new else ())
    if len(starts) - last < FEW_LINES:
        found.extend([start + moved for start in starts[last + 1 :]])
    else:
        import numpy as np

        found.frombytes((np.frombuffer(starts, np.int64)[last + 1 :] + moved).tobytes())
    return found


class DocumentStore(Workspace):
    """The editor's open documents."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> OpenDocument:
        return OpenDocument(doc_uri, source or "", version, language_id, self.encoding)

    @property
    def encoding(self) -> str:
        """The negotiated position encoding: "utf-8", "utf-16" or "utf-32"."""
        return getattr(self.position_encoding, "value", self.position_encoding) or "utf-16"

    @property
    def opened(self) -> dict[str, OpenDocument]:
        """The open documents by the address that the editor gave them. (`text_documents` has their
        addresses without escapes: of a path with `#` or `%20` that is no address.)"""
        found = self.text_documents.values()
        return {document.uri: document for document in found if isinstance(document, OpenDocument)}

    def open_document(self, uri: str) -> OpenDocument | None:
        """The document if the editor has it open, else None (never a read from disk)."""
        from urllib.parse import unquote

        found = self.text_documents.get(unquote(uri))
        return found if isinstance(found, OpenDocument) else None


class Protocol(LanguageServerProtocol):
    """The protocol over `DocumentStore`."""

    _store: DocumentStore | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sending: set[asyncio.Future[Any]] = set()
        self.is_closed = False
        """True once the client is gone: what ends then is told to nobody."""
        self.on_capabilities: Callable[[types.ServerCapabilities], None] | None = None
        """Called with what is announced before the client is told."""
        self.request_priority = RequestPriority()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message in the library's types. A request that is none, such as one without its
        position or with a negative one, is answered with an error: the library only logs it, and
        the client waits."""
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
        """Take a message in; while it is answered, long work elsewhere gives way."""
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
        """Run a part of a built-in handler; what it hands on to ends with it.

        pygls cancels the built-in handler of a command alone, and the command itself runs on.
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

        pygls fails here while a command runs: it iterates over the requests, and one that is
        cancelled leaves them.
        """
        handler = self.fm.features.get(types.SHUTDOWN)
        if handler is not None:
            yield handler, arguments, None
        own = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != own:
                future.cancel()
        self._shutdown = True

    def _send_response(
        self, msg_id: str | int, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        """An answer that is encoded already goes out as it is: encoding thousands of objects here
        would hold up every other request."""
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

    def _write(self, *body: bytes) -> None:
        """Send the parts of a message, put together once: one may have ten megabytes."""
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
    """What is wrong with a part of a message; the bounds of numbers are told as they are."""
    return str(error) if type(error) is ValueError else format_exception(error, kind)


def foreground_of(server: LanguageServer) -> RequestPriority:
    """What knows of the answers that a server owes."""
    protocol = server.protocol
    assert isinstance(protocol, Protocol)
    return protocol.request_priority
