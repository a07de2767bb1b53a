"""Sorting a .bib: entries change places with the comments that belong to them, nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import inherited
from citewell.features.bib.pieces import Piece, pieces_of
from citewell.features.checking.lint_rule import LINKS
from citewell.model import Problem
from citewell.model.bib import BibBlock, BibEntry, BibFile, TextEdit
from citewell.model.document import Span
from citewell.model.names import family_key
from citewell.model.titles import fold

By = Literal["key", "author"]
_MACRO = re.compile(r"[^\s\"{}#,]+")


def sort_entries(bib: BibFile, by: By) -> tuple[TextEdit, ...] | Problem:
    """The edit that sorts the entries; no edits when they are sorted.

    By key, or by the first authors, the year and the title. An entry that others name in `crossref`
    goes behind all others, where BibTeX needs it. @string, @preamble and @comment stay where they
    are, unless an @string would then stand below an entry that uses it: then the @strings go to the
    top. The gaps between entries stay as they are. A file that is broken is left alone.
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
        fields = inherited(bib, entry)
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
