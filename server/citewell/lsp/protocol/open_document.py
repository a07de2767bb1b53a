"""The editor's open documents, updated as the author types, and positions in their texts."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from citewell.lsp.protocol.wire import Position, Range
from citewell.model.document import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Offsets of a text as positions of the protocol.
#
# A line ends only at LF, CRLF or CR, and a character counts 1 to 4 units in the negotiated
# encoding. The library's own documents split lines like `str.splitlines` (form feeds, U+2028 ...),
# which shifts every later line; therefore both are done here.

_LINE_END = re.compile(r"\r\n|\n|\r")
_LONG_LINE = 4096
"""Number of characters of a line above which sums of units are used."""
_LARGE_TEXT = 1 << 16
"""Length from which numpy finds the line ends of an ASCII text."""
_UNIT = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def line_starts(text: str) -> array[int]:
    """The offsets of the lines, at least one, and of the text's end."""
    if len(text) >= _LARGE_TEXT and text.isascii() and "\r" not in text:
        import numpy as np

        codes = np.frombuffer(text.encode("ascii"), np.uint8)
        found = array("q", (0,))
        found.frombytes((np.flatnonzero(codes == ord("\n")).astype(np.int64) + 1).tobytes())
    else:
        found = array("q", (0, *(match.end() for match in _LINE_END.finditer(text))))
    found.append(len(text))
    return found


def units(text: str, encoding: str) -> int:
    """Length of `text` in the units of a position encoding ("utf-8", "utf-16", "utf-32")."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    codec, size = _UNIT[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def code_points(text: str, count: int, encoding: str) -> int:
    """Number of characters in the first `count` units of `text`; all if there are fewer units."""
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
    """Converts between offsets (code points) and positions (line, units) of one text. Never raises
    on a position."""

    def __init__(self, text: str, encoding: str, starts: array[int] | None = None) -> None:
        self.encoding = encoding
        # An array: as objects, the numbers of a large file would take as much memory as its text.
        self.starts = line_starts(text) if starts is None else starts
        """The offsets of the lines, and of the text's end. Not to be changed."""
        self._text = text
        self._is_plain = encoding == "utf-32" or text.isascii()
        """Whether each character is one unit."""

    def offset(self, position: types.Position) -> int:
        """The offset of a position, clamped to the end of its line and to the end of the text."""
        end = self.line_end(position.line)
        if position.line >= len(self.starts) - 1:
            return end
        start = self.starts[position.line]
        if self._is_plain:
            return min(start + max(0, position.character), end)
        return start + code_points(self._text[start:end], position.character, self.encoding)

    def line_end(self, line: int) -> int:
        """The offset of a line's end, before its line end characters."""
        if line >= len(self.starts) - 1:
            return self.starts[-1]
        start, end = self.starts[line], self.starts[line + 1]
        while end > start and self._text[end - 1] in "\r\n":
            end -= 1
        return end

    def span(self, range_: types.Range) -> Span:
        return Span(self.offset(range_.start), self.offset(range_.end))

    def position(self, offset: int) -> types.Position:
        """The position of an offset, clamped to the text."""
        return types.Position(*self._place(offset))

    def range(self, span: Span) -> types.Range:
        return types.Range(start=self.position(span.start), end=self.position(span.end))

    def wire_range(self, span: Span) -> Range:
        """The range of a span in the form encoded without the library."""
        return Range(Position(*self._place(span.start)), Position(*self._place(span.end)))

    def wire_ranges(self, spans: Sequence[Span]) -> Iterator[Range]:
        """The `wire_range` of many spans, with a common look-up of lines."""
        for line, character, last, end in self.places(spans):
            yield Range(Position(line, character), Position(last, end))

    def places(self, spans: Sequence[Span]) -> Iterator[tuple[int, int, int, int]]:
        """Line and character of both ends of each span."""
        import numpy as np

        starts = np.frombuffer(self.starts, np.int64)
        ends: list[list[int]] = []
        for offsets in ((span.start for span in spans), (span.end for span in spans)):
            at = np.fromiter(offsets, np.int64, len(spans)).clip(0, starts[-1])
            lines = np.searchsorted(starts[:-1], at, side="right") - 1
            first = starts[lines]
            columns = at - first
            if not self._is_plain:
                columns += self._further_units(at) - self._further_units(first)
            ends += lines.tolist(), columns.tolist()
        return zip(*ends, strict=True)

    def _place(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset."""
        offset = max(0, min(offset, self.starts[-1]))
        line = bisect_right(self.starts, offset, 0, len(self.starts) - 1) - 1
        start = self.starts[line]
        if self._is_plain:
            return line, offset - start
        if offset - start < _LONG_LINE:
            return line, units(self._text[start:offset], self.encoding)
        further = self._further_units(offset) - self._further_units(start)
        return line, offset - start + int(further)

    def _further_units(self, offsets: Any) -> Any:
        """The units before each offset, minus its characters."""
        import numpy as np

        at, sums = self._wide
        return sums[np.searchsorted(at, offsets)]

    @cached_property
    def _wide(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets of the characters with more than one unit, and the cumulated extra units."""
        import numpy as np

        codes = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), np.uint32)
        limits = (0xFFFF,) if self.encoding == "utf-16" else (0x7F, 0x7FF, 0xFFFF)
        further = np.zeros(len(codes), np.int64)
        for limit in limits:
            further += codes > limit
        at = np.flatnonzero(further)
        return at, np.append(0, np.cumsum(further[at]))


FEW_LINES = 2_000
"""Number of lines after an edit above which numpy shifts their offsets."""


class OpenDocument(TextDocument):
    """A document open in the editor. An edit parses only the lines that it touches."""

    def __init__(
        self, uri: str, text: str, version: int | None, language: str | None, encoding: str
    ) -> None:
        super().__init__(uri, source="", version=version, language_id=language)
        self.encoding = encoding
        self._text = text
        self._index: LineIndex | None = None
        self.typed_to = 0
        """End of what was inserted last; 0 where the whole text was replaced."""

    @property
    def source(self) -> str:
        return self._text

    @property
    def index(self) -> LineIndex:
        """Positions of the current version."""
        if self._index is None:
            self._index = LineIndex(self._text, self.encoding)
        return self._index

    def share(self, text: str) -> None:
        """Share this text object, if it has the same text."""
        if text is not self._text and text == self._text:
            self._text, self._index = text, None

    def before(self, position: types.Position, characters: int) -> str:
        """Up to `characters` characters before a position."""
        if position.line >= len(self.index.starts) - 1:
            return ""
        at = self.index.offset(position)
        return self._text[max(0, at - characters) : at]

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change notification; a range outside the text is clamped to it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._replace(change.range, change.text)
        else:
            self._text, self._index, self.typed_to = change.text, None, 0

    def _replace(self, range_: types.Range, text: str) -> None:
        before = self.index.starts
        start, end = sorted((self.index.offset(range_.start), self.index.offset(range_.end)))
        moved = len(text) - (end - start)
        self.typed_to = start + len(text)
        self._text = self._text[:start] + text + self._text[end:]
        # A CR and an LF may meet at either end of the edit: split the neighbours again, too.
        count = len(before) - 1
        first = max(0, bisect_right(before, start, 0, count) - 2)
        last = min(count, bisect_right(before, end, 0, count) + 1)
        begin = before[first]
        inner = line_starts(self._text[begin : before[last] + moved])
        starts = before[:first]
        starts.extend(begin + at for at in inner[: -2 if last < count else -1])
        if len(before) - last < FEW_LINES:
            starts.extend([at + moved for at in before[last:]])
        else:
            import numpy as np

            starts.frombytes((np.frombuffer(before, np.int64)[last:] + moved).tobytes())
        self._index = LineIndex(self._text, self.encoding, starts)


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
        """The open documents by the editor's URI. (`text_documents` has URIs without escapes:
        invalid for a path with `#` or `%20`.)"""
        found = self.text_documents.values()
        return {document.uri: document for document in found if isinstance(document, OpenDocument)}

    def open_document(self, uri: str) -> OpenDocument | None:
        """The document if the editor has it open, else None (never a read from disk)."""
        found = self.text_documents.get(unquote(uri))
        return found if isinstance(found, OpenDocument) else None
