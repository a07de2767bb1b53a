"""Sorting of a .bib: entries change places with their comments, and nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import inherited
from citewell.features.checking.lint import lint_bib
from citewell.features.checking.lint_rule import LINKS, LintPaper
from citewell.model import Problem
from citewell.model.bib import BibBlock, BibEntry, BibFile, TextEdit
from citewell.model.document import Span
from citewell.model.names import family_key
from citewell.model.titles import fold

# A .bib file as pieces that can change places: each entry with its comments.

_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?=\r\n|\r|\n)")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Piece(msgspec.Struct, frozen=True):
    """An entry, or an @string, @preamble or @comment, with its comments."""

    item: BibEntry | BibBlock
    span: Span
    """Range from the comment lines directly above to the end of the last line, without line end."""

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
    """Two offsets in the text between two items: the end of the upper item's part, and the start of
    the lower item's. The text between them is blank."""
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
    """The edits that remove entries, with their comments and the gap to the next."""
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
    """The offset after a line end at `at`."""
    found = _LINE_END.match(text, at)
    return found.end() if found is not None else at


By = Literal["key", "author"]
_MACRO = re.compile(r"[^\s\"{}#,]+")


def sort_entries(bib: BibFile, by: By) -> tuple[TextEdit, ...] | Problem:
    """The edit that sorts the entries; no edits when they are sorted.

    Sorts by key, or by the first authors, the year and the title. A `crossref` target goes after
    all others, as BibTeX requires. @string, @preamble and @comment stay in place, unless an @string
    would then follow an entry that uses it: then the @strings go to the top. The gaps between
    entries stay. A broken file is left alone.
    """
    bodies = (*(entry.body for entry in bib.entries), *(block.body for block in bib.blocks))
    if any(not body.closed for body in bodies):
        return Problem(
            "bib-not-sortable",
            "Not sorted: the file has an unclosed entry.",
            "Close it first; the diagnostics name its line.",
            bib.path,
        )
    pieces = pieces_of(bib)
    order = _order(bib, pieces, by)
    if not _defined_before_use(order):
        order = _strings_first(order)
    if list(order) == list(pieces):
        return ()
    first = next(i for i, (a, b) in enumerate(zip(pieces, order, strict=True)) if a is not b)
    last = max(i for i, (a, b) in enumerate(zip(pieces, order, strict=True)) if a is not b)
    text = bib.text
    parts: list[str] = []
    for place in range(first, last + 1):
        span = order[place].span
        parts.append(text[span.start : span.end])
        if place < last:
            gap = text[pieces[place].span.end : pieces[place + 1].span.start]
            parts.append(gap if "\n" in gap or "\r" in gap else gap or "\n")
    edit = TextEdit(Span(pieces[first].span.start, pieces[last].span.end), "".join(parts))
    after = parse_bib(text[: edit.span.start] + edit.text + text[edit.span.end :], bib.path)
    if _content(after) != _content(bib):
        return Problem(
            "bib-not-sortable",
            "Not sorted: text between the entries would change its meaning.",
            "Start each entry on its own line, and put comments directly above their entry.",
            bib.path,
        )
    return (edit,)


def _content(bib: BibFile) -> list[tuple[str, str]]:
    items: tuple[BibEntry | BibBlock, ...] = (*bib.entries, *bib.blocks)
    return sorted((item.type, item.body.text) for item in items)


def _order(bib: BibFile, pieces: Sequence[Piece], by: By) -> list[Piece]:
    """The pieces with the entries sorted into the places of entries."""
    parents = {
        key.strip()
        for entry in bib.entries
        for name in LINKS
        if name in ("crossref", "xref") and name in entry.names
        for key in entry.get(name).split(",")
    }
    rank = _by_key if by == "key" else _by_author(bib)
    entries = [piece for piece in pieces if piece.entry is not None]

    def place(piece: Piece) -> tuple[object, ...]:
        assert piece.entry is not None
        return (piece.entry.key in parents, *rank(piece.entry))

    entries.sort(key=place)
    ordered = iter(entries)
    return [next(ordered) if piece.entry is not None else piece for piece in pieces]


def _by_key(entry: BibEntry) -> tuple[object, ...]:
    return (fold(entry.key), entry.key)


def _by_author(bib: BibFile) -> Callable[[BibEntry], tuple[object, ...]]:
    def rank(entry: BibEntry) -> tuple[object, ...]:
        fields = inherited(bib.by_key, entry)
        names = [family_key(author) for author in entry.body.authors]
        if not names:
            names = [fold(fields.get("editor") or fields.get("title", ""))]
        return (tuple(names), entry.body.year or 9999, entry.body.title_key, *_by_key(entry))

    return rank


def _strings_first(pieces: Sequence[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: piece.item.type != "string")


def _defined_before_use(pieces: Sequence[Piece]) -> bool:
    """True when no entry uses an @string that a piece below it defines."""
    used: set[str] = set()
    for piece in pieces:
        if piece.entry is None:
            if piece.item.type == "string" and not used.isdisjoint(piece.item.body.names):
                return False
        else:
            used.update(_macros(piece.entry))
    return True


def _macros(entry: BibEntry) -> set[str]:
    found: set[str] = set()
    for index in range(len(entry.body.names)):
        raw = entry.body.raw(index)
        if raw[:1] not in ('"', "{") or "#" in raw:
            found.update(name.lower() for name in _MACRO.findall(raw))
    return found


# Unused entries, and their removal.


def unused_entries(bib: BibFile, paper: LintPaper) -> list[BibEntry]:
    """The entries that no paper cites, neither directly nor through an entry that names them. Empty
    if this cannot be determined: no paper uses the file, or one contains `\nocite{*}`."""
    if Path(bib.path) not in paper.bibs:
        return []
    keys = {one.data.get("key", "") for one in lint_bib(bib, paper) if one.code == "unused-entry"}
    return [entry for entry in bib.entries if entry.key in keys and entry.type != "xdata"]
