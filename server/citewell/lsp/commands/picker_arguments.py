"""What a picker sends: what it searches for, and what was chosen for which place."""

from __future__ import annotations

import msgspec
from lsprotocol import types

from citewell.lsp.protocol.line_index import LineIndex
from citewell.model.document import Document, Span


class Position(msgspec.Struct, frozen=True):
    """A position, in the units that client and server agreed on."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """From one position to another."""

    start: Position
    end: Position


class SearchArguments(msgspec.Struct, frozen=True):
    """What a picker asks for."""

    query: str = ""
    uri: str = ""
    """URI of the document that the author is writing; empty: nothing is known of the paper."""
    position: Position | None = None
    """Where the citation will be inserted; its sentence then counts, too."""
    limit: int = 20
    deep: bool = False
    """Search longer, with the cross-encoder if one is set; not for use while the author types."""


class InsertPaperArguments(msgspec.Struct, frozen=True, rename="camel"):
    """What was chosen, and where it goes."""

    uri: str
    work: str = ""
    """Id of a paper; empty for an entry that a .bib has already."""
    key: str = ""
    """Key of that entry; not needed with `work`."""
    position: Position | None = None
    range: Range | None = None
    """The text that the citation replaces; takes precedence over `position`."""
    bib_only: bool = False
    """Add the entry and cite nothing."""


def span_of(wanted: InsertPaperArguments, index: LineIndex, document: Document) -> Span:
    """The place as offsets; the end of the text where none was given."""
    if wanted.range is not None:
        start = index.offset(position_of(wanted.range.start))
        end = index.offset(position_of(wanted.range.end))
        return Span(min(start, end), max(start, end))
    if wanted.position is not None:
        at = index.offset(position_of(wanted.position))
        return Span(at, at)
    end = len(document.text.rstrip())
    return Span(end, end)


def position_of(position: Position) -> types.Position:
    """The position as the protocol has it."""
    return types.Position(max(0, position.line), max(0, position.character))
