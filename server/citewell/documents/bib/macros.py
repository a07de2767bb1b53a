"""The @string macros of a .bib: where each is defined and used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.documents.keys.table import BibKeys
from citewell.model.bib import BibFile
from citewell.model.bib_body import BibBody
from citewell.model.bib_value import literal_end
from citewell.model.document import Span

_NAME = re.compile(r"[^\s\d={},\"#%()'@][^\s={},\"#%()']*+")
_SKIP = re.compile(r"[\s#]*+\d*+")


class MacroPlace(msgspec.Struct, frozen=True):
    """One place at which a macro stands."""

    name: str
    """Lower case: macros have no case."""
    span: Span
    whole: Span
    """The @string or entry around it."""
    defines: bool


def macro_at(bib: BibFile, offset: int) -> MacroPlace | None:
    """The macro that a cursor at the offset touches."""
    for block in bib.blocks:
        if offset in block.span:
            return next(
                (
                    p
                    for p in _in_body(block.body, block.start, block.type == "string")
                    if offset in p.span
                ),
                None,
            )
    entry = BibKeys(Path(bib.path), bib).entry_at(offset)
    if entry is None:
        return None
    return next((p for p in _in_body(entry.body, entry.start) if offset in p.span), None)


def macro_places(bib: BibFile, name: str) -> list[MacroPlace]:
    """Every place of a macro, in the order of the file."""
    found: list[MacroPlace] = []
    for block in bib.blocks:
        found += _in_body(block.body, block.start, block.type == "string")
    for entry in bib.entries:
        found += _in_body(entry.body, entry.start)
    return sorted((p for p in found if p.name == name.lower()), key=lambda place: place.span)


def _in_body(body: BibBody, start: int, is_string: bool = False) -> Iterator[MacroPlace]:
    text, marks = body.text, body.marks
    whole = Span(start, start + len(text))
    for index in range(len(body.names)):
        name_start, name_end, begin, end = marks[4 * index : 4 * index + 4]
        if is_string:
            span = Span(start + name_start, start + name_end)
            yield MacroPlace(body.names[index], span, whole, defines=True)
        first = text[begin : begin + 1]
        if first.isdigit() or (first in '{"' and "#" not in text[begin:end]):
            continue
        for at, name in _names_in(text, begin, end):
            span = Span(start + at, start + at + len(name))
            yield MacroPlace(name.lower(), span, whole, defines=False)


def _names_in(text: str, at: int, end: int) -> Iterator[tuple[int, str]]:
    while at < end:
        skipped = _SKIP.match(text, at, end)
        at = skipped.end() if skipped is not None else at
        if at < end and text[at] in '{"':
            at = literal_end(text, at, end)
            if at < 0:
                return
        elif (found := _NAME.match(text, at, end)) is not None:
            yield at, found[0]
            at = found.end()
        else:
            at += 1
