"""What of a .bib can be folded away: entries, long fields, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.model.bib import BibFile
from citewell.model.bib_body import BibBody
from citewell.model.document import Span

_LINE_END = re.compile(r"\r\n|\r|\n")


class Fold(msgspec.Struct, frozen=True):
    """A range of more than one line."""

    span: Span
    is_comment: bool = False


def body_folds(body: BibBody) -> list[Span]:
    """The spans of an entry and of its multi-line fields, relative to the entry's start; empty when
    the entry is on one line."""
    text = body.text
    if not _breaks(text, 0, len(text)):
        return []
    marks = body.marks
    fields = ((marks[4 * index], marks[4 * index + 3]) for index in range(len(body.names)))
    return [Span(0, len(text)), *(Span(*field) for field in fields if _breaks(text, *field))]


def block_folds(bib: BibFile) -> Iterator[Fold]:
    """The @string, @preamble and @comment blocks, in order."""
    for block in bib.blocks:
        if _breaks(bib.text, block.start, block.span.end):
            yield Fold(block.span, block.type == "comment")


def comment_folds(bib: BibFile) -> Iterator[Fold]:
    """Text between entries and blocks, in order: a .bib takes all that for a comment."""
    text = bib.text
    pieces = [(entry.start, entry.end) for entry in bib.entries]
    if bib.blocks:
        pieces = sorted([*pieces, *((block.start, block.span.end) for block in bib.blocks)])
    at = 0
    for start, end in (*pieces, (len(text), len(text))):
        if start - at > 2:
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
