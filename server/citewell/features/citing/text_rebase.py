"""A text under a sequence of edits, which comes out as one set of edits of the original.

Each planned change looks at the text as the changes before it left it; the author's file takes them
all at once. So edits are applied one after the other here and then stated against the original.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.documents.textfile import apply_edits
from citewell.model.bib import TextEdit
from citewell.model.document import Span


class RebasedText:
    """The original, kept in pieces: spans of it, and texts that came in between."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.text = original
        """The text after the edits so far."""
        self._pieces: list[Span | str] = [Span(0, len(original))]

    def apply(self, edits: Sequence[TextEdit]) -> None:
        """Make edits of the current text; ValueError if they overlap or leave it."""
        text = apply_edits(self.text, edits)
        for edit in reversed(sorted(edits, key=lambda edit: edit.span)):
            self._replace(edit)
        self.text = text

    def now(self, offset: int) -> int:
        """The current offset of the character at an offset of the original.

        Text inserted at that very offset precedes the character. For a character that has been
        replaced, this is the end of its replacement.
        """
        position = 0
        for piece in self._pieces:
            if isinstance(piece, str):
                position += len(piece)
            elif piece.start <= offset < piece.end:
                return position + offset - piece.start
            elif piece.start > offset:
                return position
            else:
                position += piece.end - piece.start
        return position

    def edits(self) -> tuple[TextEdit, ...]:
        """Edits of the original that give the current text, sorted and not overlapping."""
        found: list[TextEdit] = []
        position = 0  # how far the original is accounted for
        added = ""
        for piece in [*self._pieces, Span(len(self.original), len(self.original))]:
            if isinstance(piece, str):
                added += piece
                continue
            if added or piece.start > position:
                found.append(TextEdit(Span(position, piece.start), added))
            position, added = piece.end, ""
        return tuple(found)

    def _replace(self, edit: TextEdit) -> None:
        start, end = edit.span.start, edit.span.end
        kept: list[Span | str] = []
        position = 0
        placed = False
        for piece in self._pieces:
            length = len(piece) if isinstance(piece, str) else piece.end - piece.start
            if not placed and position >= start:
                kept.append(edit.text)
                placed = True
            before = _cut(piece, 0, min(max(start - position, 0), length))
            after = _cut(piece, min(max(end - position, 0), length), length)
            if before:
                kept.append(before)
            if not placed and position + length >= start:
                kept.append(edit.text)
                placed = True
            if after:
                kept.append(after)
            position += length
        if not placed:
            kept.append(edit.text)
        self._pieces = [piece for piece in kept if piece]


def _cut(piece: Span | str, start: int, end: int) -> Span | str:
    """Part of a piece; the empty string when nothing is left."""
    if end <= start:
        return ""
    if isinstance(piece, str):
        return piece[start:end]
    return Span(piece.start + start, piece.start + end)
