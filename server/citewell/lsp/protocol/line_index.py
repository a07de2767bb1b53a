"""Offsets of a text as positions of the protocol.

A line ends at LF, CRLF or CR and nowhere else, and a character counts 1 to 4 units in the
negotiated encoding. The library's own documents split lines as `str.splitlines` does (form feeds,
U+2028 ...), which shifts every line below such a character; so both are done here.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from lsprotocol import types

from citewell.lsp.protocol.wire import Position, Range
from citewell.model.document import Span

_LINE_END = re.compile(r"\r\n|\n|\r")
_LONG_LINE = 4096
_LARGE_TEXT = 1 << 16
"""From this length on, numpy looks for the line ends of an ASCII text."""
_STEP = 1024
"""In a longer line than `_LONG_LINE`, units are counted from a multiple of this many characters."""
_UNIT = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends; at least one, and the last has no end."""
    if "\n" not in text and "\r" not in text:
        return [text]  # it may have ten megabytes
    lines: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines


def line_starts(text: str) -> array[int]:
    """The offsets of the lines that `split_lines` returns, and of the text's end."""
    if len(text) >= _LARGE_TEXT and text.isascii() and "\r" not in text:
        import numpy as np

        codes = np.frombuffer(text.encode("ascii"), np.uint8)
        found = array("q", (0,))
        found.frombytes((np.flatnonzero(codes == ord("\n")).astype(np.int64) + 1).tobytes())
    else:
        found = array("q", (0, *(match.end() for match in _LINE_END.finditer(text))))
    found.append(len(text))
    return found


class Lines(Sequence[str]):
    """The lines of a text with their ends, each cut out when it is asked for: kept as strings, the
    lines of a large file take three times the memory of its text."""

    def __init__(self, text: str, starts: array[int]) -> None:
        self._text = text
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        at = number + len(self) if number < 0 else number
        if not 0 <= at < len(self):
            raise IndexError(number)
        return self._text[self._starts[at] : self._starts[at + 1]]


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

    def __init__(self, text: str, encoding: str, starts: array[int] | None = None) -> None:
        """`starts`, if they are known, are the offsets of the lines and of the text's end."""
        self._text = text
        self._encoding = encoding
        self._is_plain = encoding == "utf-32" or text.isascii()
        """Each character is one unit."""
        # An array: as objects, the numbers of a large file would take as much memory as its text.
        self._starts = line_starts(text) if starts is None else starts
        self._lines = Lines(text, self._starts)
        self._long: dict[int, array[int]] = {}
        """Of long lines that are not ASCII: the units before each `_STEP` characters."""

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
        return cls(text, encoding)

    def offset(self, position: types.Position) -> int:
        """The offset of a position, clamped to the end of its line and to the end of the text."""
        if position.line >= len(self._lines):
            return self._starts[-1]
        start, end = self._starts[position.line], self.line_end(position.line)
        if self._is_plain:
            return min(start + max(0, position.character), end)
        return start + code_points(self._text[start:end], position.character, self._encoding)

    def position(self, offset: int) -> types.Position:
        """The position of an offset, which is clamped to the text."""
        offset = max(0, min(offset, self._starts[-1]))
        line = self._line_at(offset)
        return types.Position(line=line, character=self._units(line, offset - self._starts[line]))

    def line_end(self, line: int) -> int:
        """The offset at which a line's text ends, before its line end."""
        if line >= len(self._lines):
            return self._starts[-1]
        start, end = self._starts[line], self._starts[line + 1]
        while end > start and self._text[end - 1] in "\r\n":
            end -= 1
        return end

    def places(self, span: Span) -> tuple[int, int, int, int]:
        """Line and character of both ends. Fast for the many spans that lie within one line."""
        last = self._starts[-1]
        begin, end = min(max(0, span.start), last), min(max(0, span.end), last)
        line = self._line_at(begin)
        start = self._starts[line]
        if begin <= end < self._starts[line + 1]:
            if self._is_plain:
                return line, begin - start, line, end - start
            return line, self._units(line, begin - start), line, self._units(line, end - start)
        one, other = self.position(begin), self.position(end)
        return one.line, one.character, other.line, other.character

    def places_of_all(self, spans: Sequence[Span]) -> Iterator[tuple[int, int, int, int]]:
        """`places` of each of many spans, whose lines are looked up together."""
        import numpy as np

        starts = np.frombuffer(self._starts, np.int64)
        begins = np.fromiter((span.start for span in spans), np.int64, len(spans))
        ends = np.fromiter((span.end for span in spans), np.int64, len(spans))
        rows = np.searchsorted(starts[:-1], begins, side="right") - 1
        within = (rows >= 0) & (begins <= ends) & (ends < starts[rows + 1])
        firsts = starts[rows]
        columns = (begins - firsts).tolist(), (ends - firsts).tolist()
        lines = self._lines
        for span, row, column, end, inside in zip(
            spans, rows.tolist(), *columns, within.tolist(), strict=True
        ):
            if inside and (self._is_plain or lines[row].isascii()):
                yield row, column, row, end
            else:
                yield self.places(span)

    def wire_range(self, span: Span) -> Range:
        """The range of a span in the form that is encoded without the library."""
        line, character, last, end = self.places(span)
        return Range(Position(line, character), Position(last, end))

    def range(self, span: Span) -> types.Range:
        return types.Range(start=self.position(span.start), end=self.position(span.end))

    def span(self, range_: types.Range) -> Span:
        return Span(self.offset(range_.start), self.offset(range_.end))

    def _units(self, line: int, column: int) -> int:
        """How many units the first `column` characters of a line have."""
        start = self._starts[line]
        length = self._starts[line + 1] - start
        column = min(column, length)
        if self._is_plain:
            return column
        if length < _LONG_LINE:
            return units(self._text[start : start + column], self._encoding)
        counts = self._long.get(line)
        if counts is None:
            text = self._lines[line]
            parts = (text[at : at + _STEP] for at in range(0, length, _STEP))
            sizes = (units(part, self._encoding) for part in parts)
            self._long[line] = counts = array("q", accumulate(sizes, initial=0))
        number = column // _STEP
        return counts[number] + units(
            self._text[start + number * _STEP : start + column], self._encoding
        )

    def _line_at(self, offset: int) -> int:
        return min(bisect_right(self._starts, offset) - 1, len(self._lines) - 1)
