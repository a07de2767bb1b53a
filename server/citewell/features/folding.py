"""What of a .bib can be folded away: entries, long fields, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.model.bib import BibFile
from citewell.model.document import Span

_LINE_END = re.compile(r"\r\n|\r|\n")


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
        yield from _paragraphs(text, at, start)
        at = max(at, end)


def _paragraphs(text: str, at: int, end: int) -> Iterator[Fold]:
    """Lines without an empty one between them, where they are more than one."""
    first, last, count = at, at, 0
    while at < end:
        found = _LINE_END.search(text, at, end)
        stop = found.start() if found is not None else end
        if text[at:stop].strip():
            first = first if count else at
            last, count = stop, count + 1
        if count > 1 and (not text[at:stop].strip() or found is None or found.end() >= end):
            yield Fold(Span(first, last), is_comment=True)
        if not text[at:stop].strip():
            count = 0
        at = found.end() if found is not None else end


def _breaks(text: str, start: int, end: int) -> bool:
    return text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0
