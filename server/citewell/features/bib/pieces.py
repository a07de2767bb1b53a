"""A .bib file in pieces that can change places: each entry with the comments that belong to it."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

import msgspec

from citewell.model.bib import BibBlock, BibEntry, BibFile, TextEdit
from citewell.model.document import Span

_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?=\r\n|\r|\n)")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Piece(msgspec.Struct, frozen=True):
    """An entry, or an @string, @preamble or @comment, with what belongs to it."""

    item: BibEntry | BibBlock
    span: Span
    """From the comment lines directly above to the end of the last line; no line end at its end."""

    @property
    def entry(self) -> BibEntry | None:
        return self.item if isinstance(self.item, BibEntry) else None


def pieces_of(bib: BibFile) -> tuple[Piece, ...]:
    """The pieces in order; the text between two of them is blank.

    A comment belongs to the item below it, unless it is on the last line of the item above, or
    directly below that item and separated from the next one by an empty line. Text at the top of
    the file, separated from the first item by an empty line, belongs to no item; nor does text at
    the end of the file that is separated from the last item.
    """
    text = bib.text
    items: list[BibEntry | BibBlock] = sorted(
        (*bib.entries, *bib.blocks), key=lambda item: item.start
    )
    if not items:
        return ()
    starts = [_top(text, items[0].start)]
    ends = []
    for above, below in pairwise(items):
        end = above.span.end
        own, rest = _parted(text[end : below.start])
        ends.append(end + own)
        starts.append(end + rest)
    end = items[-1].span.end
    own, _ = _parted(f"{text[end:]}\n\n")
    ends.append(end + min(own, len(text) - end))
    return tuple(
        Piece(item, Span(start, stop))
        for item, start, stop in zip(items, starts, ends, strict=True)
    )


def _top(text: str, start: int) -> int:
    """The start of the lines directly above the first item."""
    head = text[:start]
    gaps = list(_GAP.finditer(head))
    if not gaps:
        return 1 if head.startswith("\ufeff") else 0
    return _skip_blank(text, gaps[-1].end(), start)


def _parted(between: str) -> tuple[int, int]:
    """Two offsets in the text between two items: where the part of the upper item ends, and where
    that of the lower one begins. The text between them is blank."""
    gap = _GAP.search(between)
    if gap is not None:
        own = gap.start()
    else:
        line = _LINE_END.search(between)
        own = line.start() if line is not None else len(between)
    rest = _skip_blank(between, own, len(between))
    return len(between[:own].rstrip()), rest


def _skip_blank(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def without(bib: BibFile, unwanted: Collection[BibEntry]) -> tuple[TextEdit, ...]:
    """The edits that remove entries, with the comments that belong to them and the gap that
    separated them from the next."""
    starts = {entry.start for entry in unwanted}
    pieces = pieces_of(bib)
    gone = [piece.entry is not None and piece.item.start in starts for piece in pieces]
    text = bib.text
    edits: list[TextEdit] = []
    number = 0
    while number < len(pieces):
        if not gone[number]:
            number += 1
            continue
        first = number
        while number < len(pieces) and gone[number]:
            number += 1
        start = pieces[first].span.start
        if number < len(pieces):
            end = pieces[number].span.start
        else:
            end = pieces[-1].span.end
            end = len(text) if not text[end:].strip() else _behind_line(text, end)
            if first:
                start = _behind_line(text, pieces[first - 1].span.end)
        edits.append(TextEdit(Span(start, end), ""))
    return tuple(edits)


def _behind_line(text: str, at: int) -> int:
    """Behind the line end that follows directly on an offset."""
    found = _LINE_END.match(text, at)
    return found.end() if found is not None else at
