"""What a picker sends: what it searches for, and what was chosen for which place."""

from __future__ import annotations

from typing import Annotated

import msgspec
from lsprotocol import types

from citewell.lsp.protocol.line_index import LineIndex
from citewell.model.document import Document, Span

MOST_PAPERS = 50
"""Papers of one citation, at most."""


class Position(msgspec.Struct, frozen=True):
    """A position, in the units that client and server agreed on."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """From one position to another."""

    start: Position
    end: Position


class PaperChoice(msgspec.Struct, frozen=True):
    """One of several papers that were chosen."""

    work: str = ""
    """Id of a paper; empty for an entry that a .bib has already."""
    key: str = ""
    """Key of that entry; not needed with `work`."""


Choices = Annotated[tuple[PaperChoice, ...], msgspec.Meta(max_length=MOST_PAPERS)]


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
    chosen: Choices = ()
    """The papers that the citation will have: the list holds what is cited beside them."""


class InsertPaperArguments(msgspec.Struct, frozen=True, rename="camel"):
    """What was chosen, and where it goes."""

    uri: str
    work: str = ""
    """Id of a paper; empty for an entry that a .bib has already."""
    key: str = ""
    """Key of that entry; not needed with `work`."""
    papers: Choices = ()
    """Several papers, which become one citation, in place of `work` and `key`."""
    position: Position | None = None
    range: Range | None = None
    """The text that the citation replaces; takes precedence over `position`."""
    bib_only: bool = False
    """Add the entry and cite nothing."""

    @property
    def chosen(self) -> tuple[PaperChoice, ...]:
        """The papers, one or several."""
        return self.papers or (PaperChoice(self.work, self.key),)


def span_of(wanted: InsertPaperArguments, index: LineIndex, document: Document) -> Span:
    """The place as offsets; the end of the text where none was given."""
    if wanted.range is None and wanted.position is None:
        end = len(document.text.rstrip())
        return Span(end, end)
    return range_of(wanted.range, wanted.position, index)


def range_of(range: Range | None, position: Position | None, index: LineIndex) -> Span:
    """A range, else a position, as offsets; the beginning of the text where there is neither."""
    if range is not None:
        start = index.offset(position_of(range.start))
        end = index.offset(position_of(range.end))
        return Span(min(start, end), max(start, end))
    at = 0 if position is None else index.offset(position_of(position))
    return Span(at, at)


def position_of(position: Position) -> types.Position:
    """The position as the protocol has it."""
    return types.Position(max(0, position.line), max(0, position.character))
