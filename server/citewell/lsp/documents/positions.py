"""Positions in a text for which no index of lines exists: of a closed file, or of many places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.protocol.line_index import line_starts, units
from citewell.lsp.protocol.wire import Location, Position, Range
from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_body import BibBody
from citewell.model.document import Span

if TYPE_CHECKING:
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot


class Positions:
    """Offsets of one text as positions. Rising offsets cost one walk through the text in all."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._is_plain = encoding == "utf-32" or text.isascii()
        self._has_returns = "\r" in text
        self._line = self._start = 0
        self._at = self._column = 0

    def position(self, offset: int) -> Position:
        """The position of an offset, which is held inside the text."""
        text = self._text
        offset = max(0, min(offset, len(text)))
        if offset < self._at:
            self._line = self._start = self._at = self._column = 0
        self._pass_lines(offset)
        start = max(self._at, self._start)
        if self._is_plain:
            self._column = offset - self._start
        else:
            if start == self._start:
                self._column = 0
            self._column += units(text[start:offset], self._encoding)
        self._at = offset
        return Position(self._line, self._column)

    def range(self, span: Span) -> Range:
        return Range(self.position(span.start), self.position(span.end))

    def numbers(self, span: Span) -> tuple[int, int, int, int]:
        """Line and character of the start, then of the end."""
        start, end = self.position(span.start), self.position(span.end)
        return start.line, start.character, end.line, end.character

    def _pass_lines(self, offset: int) -> None:
        text, at = self._text, max(self._at, self._start)
        lines = text.count("\n", at, offset)
        last = text.rfind("\n", at, offset)
        if self._has_returns:
            # Do not split a CRLF: an offset inside it still belongs to the line before.
            stop = offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset
            lines += text.count("\r", at, stop) - text.count("\r\n", at, offset)
            last = max(last, text.rfind("\r", at, stop))
        if lines:
            self._line += lines
            self._start = last + 1


class Ranges:
    """Converts spans to LSP ranges for edits."""

    def __init__(self, text: str, encoding: str) -> None:
        self._places = Positions(text, encoding)

    def range(self, span: Span) -> types.Range:
        found = self._places.range(span)
        return types.Range(
            start=types.Position(found.start.line, found.start.character),
            end=types.Position(found.end.line, found.end.character),
        )


class Locator:
    """Places in the files of a snapshot as the protocol's locations."""

    def __init__(self, snapshot: WorkspaceSnapshot, encoding: str) -> None:
        self._snapshot = snapshot
        self._encoding = encoding
        self._places: dict[Path, Positions] = {}

    def uri(self, path: Path) -> str:
        """The address under which the editor knows a file."""
        opened = self._snapshot.opened.get(path)
        return opened.uri if opened is not None else from_fs_path(str(path)) or ""

    def range(self, path: Path, span: Span) -> Range:
        """A range of a file of the snapshot; its beginning for one that was not read."""
        places = self._places.get(path)
        if places is None:
            file = self._snapshot.linked.all_keys.files.get(path)
            text = file.source.text if file is not None else ""
            self._places[path] = places = Positions(text, self._encoding)
        return places.range(span)

    def location(self, path: Path, span: Span) -> Location:
        return Location(self.uri(path), self.range(path, span))


# Positions in a .bib by entry: where each begins, and what lies inside it, counted from there.
#
# What lies inside stays where it is as long as the entry's body lives, so that a list of all
# entries costs a walk over them after an edit, and no counting in their text.

_MANY = 1_000
"""Entries from which numpy looks up their lines."""


class Inside(NamedTuple):
    """A range in an entry, in lines from the entry's first one. Characters in line 0 are counted
    from the `@`, in the others from the beginning of the line. (A body never ends in whitespace, so
    it never splits a CRLF.)"""

    row: int
    column: int
    last_row: int
    last_column: int

    def at(self, line: int, column: int) -> tuple[int, int, int, int]:
        """The range if the `@` is at this position: line and character of both ends."""
        return (
            line + self.row,
            self.column if self.row else self.column + column,
            line + self.last_row,
            self.last_column if self.last_row else self.last_column + column,
        )


class BodyPlaces:
    """Ranges inside one body."""

    def __init__(self, body: BibBody, encoding: str) -> None:
        self._text = text = body.text
        self._encoding = encoding
        self._is_plain = encoding == "utf-32" or text.isascii()
        self._is_line = "\n" not in text
        self._places = Positions(text, encoding) if "\r" in text else None

    def inside(self, begin: int, end: int) -> Inside:
        """The range between two offsets of the body's text."""
        if self._places is not None:
            return Inside(*self._places.numbers(Span(begin, end)))
        if self._is_line and self._is_plain:
            return Inside(0, begin, 0, end)
        row, column = self._place(begin) if begin else (0, 0)
        last_row, last_column = self._place(end)
        return Inside(row, column, last_row, last_column)

    def _place(self, offset: int) -> tuple[int, int]:
        text = self._text
        start = text.rfind("\n", 0, offset) + 1
        row = text.count("\n", 0, start) if start else 0
        if self._is_plain:
            return row, offset - start
        return row, units(text[start:offset], self._encoding)


def placed(bib: BibFile, encoding: str) -> Iterator[tuple[BibEntry, int, int]]:
    """Each entry with line and character of its `@`."""
    text = bib.text
    if len(bib.entries) >= _MANY and text.isascii() and "\r" not in text:
        yield from _placed_together(bib)
        return
    returns = "\r" in text and text.count("\r") != text.count("\r\n")
    line = at = begin = column = 0
    is_plain = encoding == "utf-32" or text.isascii()
    for entry in bib.entries:
        start = entry.start
        passed = text.count("\n", at, start)
        if returns:
            passed += text.count("\r", at, start) - text.count("\r\n", at, start)
        if passed:
            line += passed
            last = text.rfind("\n", at, start)
            begin = at = max(last, text.rfind("\r", at, start) if returns else -1) + 1
            column = 0
        if is_plain:
            column = start - begin
        elif start > at:
            # Counted from the entry before: a file may have all its entries in one line.
            column += units(text[at:start], encoding)
        at = start
        yield entry, line, column


def _placed_together(bib: BibFile) -> Iterator[tuple[BibEntry, int, int]]:
    """`placed` of a large ASCII file, whose lines are looked up together."""
    import numpy as np

    lines = np.frombuffer(line_starts(bib.text), np.int64)
    starts = np.fromiter((entry.start for entry in bib.entries), np.int64, len(bib.entries))
    rows = np.searchsorted(lines[:-1], starts, side="right") - 1
    columns = starts - lines[rows]
    return zip(bib.entries, rows.tolist(), columns.tolist(), strict=True)
