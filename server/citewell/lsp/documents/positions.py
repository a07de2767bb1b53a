"""Positions in a text for which no index of lines exists: of a closed file, or of many places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.protocol.line_index import units
from citewell.lsp.protocol.wire import Location, Position, Range
from citewell.model.document import Span

if TYPE_CHECKING:
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot


class Places:
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
        self._places = Places(text, encoding)

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
        self._places: dict[Path, Places] = {}

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
            self._places[path] = places = Places(text, self._encoding)
        return places.range(span)

    def location(self, path: Path, span: Span) -> Location:
        return Location(self.uri(path), self.range(path, span))
