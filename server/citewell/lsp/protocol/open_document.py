"""The editor's open documents, changed line by line as the author types."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from citewell.lsp.protocol.line_index import LineIndex, Lines, code_points, line_starts, split_lines

FEW_EDITS = 8
FEW_LINES = 2_000
"""With fewer lines after an edit, their offsets are shifted one by one; with more, by numpy."""


class OpenDocument(TextDocument):
    """A document the editor has open. An edit costs what it touches, not what the file holds."""

    def __init__(
        self, uri: str, text: str, version: int | None, language: str | None, encoding: str
    ) -> None:
        super().__init__(uri, source="", version=version, language_id=language)
        self.encoding = encoding
        self._joined: str | None = text
        """The text; None while its lines are edited one by one (`_split`)."""
        self._split: list[str] = []
        self._index: LineIndex | None = None
        self._starts: array[int] | None = None
        """The offsets of the lines, for the index; None if they are not known."""
        self._edits = 0
        """Edits since the text or the index was last requested."""

    @property
    def lines(self) -> Sequence[str]:
        return self._split if self._joined is None else Lines(self._joined, self._line_starts())

    @property
    def source(self) -> str:
        if self._joined is None:
            self._joined = "".join(self._split)
            self._starts = array("q", accumulate(map(len, self._split), initial=0))
            self._split = []
        self._edits = 0
        return self._joined

    @property
    def index(self) -> LineIndex:
        """Positions of the present version."""
        if self._index is None:
            self._index = LineIndex(self.source, self.encoding, self._line_starts())
        self._edits = 0
        return self._index

    def share(self, text: str) -> None:
        """Keep the text as this object, which others hold too, if it is the same text."""
        if text is not self._joined and text == self._joined:
            self._joined, self._index = text, None

    def _line_starts(self) -> array[int]:
        if self._starts is None:
            self._starts = line_starts(self.source)
        return self._starts

    def before(self, position: types.Position, characters: int) -> str:
        """Up to `characters` characters before a position, without joining the text."""
        lines = self.lines
        if position.line >= len(lines):
            return ""
        line = lines[position.line]
        parts = [line[: code_points(line.rstrip("\r\n"), position.character, self.encoding)]]
        length, number = len(parts[0]), position.line - 1
        while length < characters and number >= 0:
            parts.append(lines[number])
            length += len(parts[-1])
            number -= 1
        return "".join(reversed(parts))[-characters:]

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change notification; a range outside the text is clamped to it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._replace(change.range, change.text)
        else:
            self._joined, self._split, self._starts = change.text, [], None
        self._index = None

    def _replace(self, range_: types.Range, text: str) -> None:
        # The first few edits are applied to the text and the offsets. Each copies them, so that of
        # many edits in a row it is cheaper to apply the others to a list of lines.
        self._edits += 1
        if self._edits > FEW_EDITS and self._joined is not None:
            self._split, self._joined, self._starts = list(self.lines), None, None
        lines = self.lines
        first, start = _place(lines, range_.start, self.encoding)
        last, end = _place(lines, range_.end, self.encoding)
        if (last, end) < (first, start):
            first, start, last, end = last, end, first, start
        joined = lines[first][:start] + text + lines[last][end:]
        whole, starts = self._joined, self._starts
        if whole is not None and starts is not None:
            self._joined = whole[: starts[first] + start] + text + whole[starts[last] + end :]
        # A CR and an LF may now meet at either end of the edit: split the neighbours again, too.
        if first > 0 and joined.startswith("\n"):
            first -= 1
            joined = lines[first] + joined
        if joined.endswith("\r") and last + 1 < len(lines):
            last += 1
            joined += lines[last]
        new = split_lines(joined)
        if last + 1 < len(lines) and new[-1] == "":
            new.pop()
        if starts is not None:
            self._starts = _moved(starts, first, last, new)
        else:
            self._split[first : last + 1] = new


def _place(lines: Sequence[str], position: types.Position, encoding: str) -> tuple[int, int]:
    if position.line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    line = lines[position.line]
    return position.line, code_points(line.rstrip("\r\n"), position.character, encoding)


def _moved(starts: array[int], first: int, last: int, new: Sequence[str]) -> array[int]:
    """The offsets of the lines after `new` has replaced lines `first` to `last`."""
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
