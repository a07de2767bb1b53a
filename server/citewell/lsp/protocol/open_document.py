"""The editor's open documents, changed line by line as the author types."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from citewell.lsp.protocol.line_index import LineIndex, code_points, split_lines

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
        self._text_lines = split_lines(text)
        self._joined: str | None = text
        self._index: LineIndex | None = None
        self._starts: array[int] | None = None
        """The offsets of the lines, for the index; None if they are not known."""
        self._edits = 0
        """Edits since the text or the index was last requested."""

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
        """Up to `characters` characters before a position, without joining the text."""
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
        """Apply a change notification; a range outside the text is clamped to it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._replace(change.range, change.text)
        else:
            self._text_lines = split_lines(change.text)
            self._joined, self._starts = change.text, None
        self._index = None

    def _replace(self, range_: types.Range, text: str) -> None:
        if self._index is not None:
            # A caller may still need the positions of this version.
            self._text_lines = list(self._text_lines)
        lines = self._text_lines
        first, start = self._place(range_.start)
        last, end = self._place(range_.end)
        if (last, end) < (first, start):
            first, start, last, end = last, end, first, start
        # The first few edits are also applied to the joined text and the offsets, which is cheaper
        # than rebuilding them from a hundred thousand lines. Each edit copies them, so after many
        # edits in a row it is cheaper to drop them.
        self._edits += 1
        starts, whole = self._starts, self._joined
        if self._edits > FEW_EDITS or starts is None:
            self._starts = self._joined = None
        elif whole is not None:
            self._joined = whole[: starts[first] + start] + text + whole[starts[last] + end :]
        joined = lines[first][:start] + text + lines[last][end:]
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
