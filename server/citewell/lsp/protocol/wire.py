"""Large answers in the protocol's form, encoded off the event loop.

A .bib may have a hundred thousand entries, and its outline as many symbols. The library's own
conversion of that list takes seconds on the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Encoded:
    """The result of a request as JSON, sent unchanged."""

    __slots__ = ("data",)

    def __init__(self, value: object) -> None:
        self.data = msgspec.json.encode(value)


class Refused:
    """The result of an impossible request, with the reason for the author."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class Position(msgspec.Struct, frozen=True, gc=False):
    line: int
    character: int


class Range(msgspec.Struct, frozen=True, gc=False):
    start: Position
    end: Position


class Location(msgspec.Struct, frozen=True):
    uri: str
    range: Range


class LocationLink(msgspec.Struct, frozen=True, rename="camel"):
    origin_selection_range: Range
    target_uri: str
    target_range: Range
    target_selection_range: Range


class DocumentHighlight(msgspec.Struct, frozen=True):
    range: Range
    kind: int


class SymbolInformation(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    kind: int
    location: Location
    container_name: str = ""


class DocumentSymbol(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    detail: str
    kind: int
    range: Range
    selection_range: Range


class LspCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    title: str
    command: str
    arguments: Sequence[object] = ()


class CodeLens(msgspec.Struct, frozen=True):
    range: Range
    command: LspCommand


class FoldingRange(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    start_line: int
    end_line: int
    kind: str | None = None


class DocumentLink(msgspec.Struct, frozen=True, omit_defaults=True):
    range: Range
    target: str | None = None
    data: tuple[str, ...] | None = None


class LspTextEdit(msgspec.Struct, frozen=True, rename="camel", gc=False):
    range: Range | msgspec.Raw
    """Encoded once if many items replace the same range."""
    new_text: str


class LabelDetails(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    detail: str | None = None
    description: str | None = None


class ListPlace(msgspec.Struct, frozen=True, gc=False):
    """The position of an item among the lists in memory."""

    list: int
    rank: int


class CompletionItem(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    label: str
    kind: int
    sort_text: str
    text_edit: LspTextEdit
    insert_text_format: int
    detail: str | None = None
    filter_text: str | None = None
    label_details: LabelDetails | None = None
    tags: tuple[int, ...] | None = None
    commit_characters: tuple[str, ...] | None = None
    command: LspCommand | None = None
    data: ListPlace | None = None


class CompletionList(msgspec.Struct, frozen=True, rename="camel"):
    is_incomplete: bool
    items: list[CompletionItem]
