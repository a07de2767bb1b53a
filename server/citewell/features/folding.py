"""What of a .bib can be folded away: entries, long fields, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.model.bib import BibFile
from citewell.model.document import Span

_LINES = re.compile(r"[^\s][^\r\n]*(?:\r\n?|\n)(?:[ \t]*[^\s][^\r\n]*(?:\r\n?|\n|$))+")


class Fold(msgspec.Struct, frozen=True):
    """A range of more than one line."""

    span: Span
    is_comment: bool = False


def bib_folds(bib: BibFile) -> Iterator[Fold]:
    """Entries and blocks, then fields of several lines, then text between entries: a .bib takes all
    that for a comment."""
    text = bib.text
    pieces = sorted(
        [
            *((entry.start, entry.end, False) for entry in bib.entries),
            *((b.start, b.start + len(b.body.text), b.type == "comment") for b in bib.blocks),
        ]
    )
    for start, end, is_comment in pieces:
        if _breaks(text, start, end):
            yield Fold(Span(start, end), is_comment)
    for entry in bib.entries:
        marks = memoryview(entry.body.marks).cast("I")
        for index in range(len(entry.body.names)):
            begin, end = marks[4 * index], marks[4 * index + 3]
            if _breaks(entry.body.text, begin, end):
                yield Fold(Span(entry.start + begin, entry.start + end))
    at = 0
    for start, end, _ in (*pieces, (len(text), len(text), False)):
        for lines in _LINES.finditer(text, at, max(at, start)):
            stop = lines.start() + len(lines[0].rstrip())
            if _breaks(text, lines.start(), stop):
                yield Fold(Span(lines.start(), stop), is_comment=True)
        at = max(at, end)


def _breaks(text: str, start: int, end: int) -> bool:
    return text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0
