"""What of a .bib can be folded away: entries, long fields, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.model.bib import BibFile
from citewell.model.document import Span

_LINE_END = re.compile(r"\r\n|\r|\n")


class Fold(msgspec.Struct, frozen=True):
    """A range that is folded where it has more than one line."""

    span: Span
    is_comment: bool = False


def folds(bib: BibFile) -> Iterator[Fold]:
    """What can be folded, the entries first; ranges within one line among them."""
    yield from (Fold(entry.span) for entry in bib.entries)
    yield from (Fold(block.span, block.type == "comment") for block in bib.blocks)
    for entry in bib.entries:
        start, marks = entry.start, entry.body.marks
        for at in range(0, len(marks), 4):
            yield Fold(Span(start + marks[at], start + marks[at + 3]))
    yield from _comments(bib)


def _comments(bib: BibFile) -> Iterator[Fold]:
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
