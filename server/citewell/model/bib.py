"""A parsed .bib file: entries with exact ranges, and edits that keep the rest.

The content of an entry (`BibBody`) is separate from its position (`BibEntry.start`): an edit at the
top of a large file moves the entries below it without parsing them again, and whatever was computed
from a body stays valid as long as the body lives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import msgspec

from citewell.model.bib_body import BibBody, BibFault
from citewell.model.bib_value import plain_value
from citewell.model.document import Span
from citewell.model.problem import Problem


class BibField(msgspec.Struct, frozen=True, dict=True):
    name: str
    """Lower case."""
    raw: str
    """The raw text in the file, delimiters included."""
    name_span: Span
    value_span: Span
    strings: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The file's @string macros as raw values."""

    @cached_property
    def value(self) -> str:
        """Plain Unicode: delimiters, protective braces and accents resolved, @string expanded."""
        return plain_value(self.name, self.raw, self.strings)


class BibEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry and its position in the file. It is in no reference cycle and is not tracked."""

    type: str
    """Entry type, lower case."""
    key: str
    start: int
    """Offset of `@` in the file."""
    body: BibBody

    @property
    def span(self) -> Span:
        """The range from `@` to the closing delimiter."""
        return Span(self.start, self.start + self.body.length)

    @property
    def end(self) -> int:
        """Offset after the closing delimiter."""
        return self.start + self.body.length

    @property
    def key_span(self) -> Span:
        """The range of the key; empty, at its place, when the key is missing."""
        start = self.start + self.body.key_at
        return Span(start, start + len(self.key))

    @property
    def names(self) -> tuple[str, ...]:
        """Field names in lower case, in order."""
        return self.body.names

    @property
    def fields(self) -> tuple[BibField, ...]:
        """The fields in order, with absolute ranges; built at each call."""
        marks = self.body.marks
        return tuple(self._field(index, marks) for index in range(len(self.body.names)))

    def fields_of(self, names: Collection[str]) -> list[BibField]:
        """The fields with these names, in order."""
        marks = self.body.marks
        found = enumerate(self.body.names)
        return [self._field(index, marks) for index, name in found if name in names]

    def _field(self, index: int, marks: memoryview) -> BibField:
        body, start, at = self.body, self.start, 4 * index
        begin, end = marks[at + 2], marks[at + 3]
        return BibField(
            body.names[index],
            body.raw(index),
            Span(start + marks[at], start + marks[at + 1]),
            Span(start + begin, start + end),
            body.strings,
        )

    def get(self, name: str) -> str:
        """The plain value of a field, or ""."""
        return self.body.get(name)


class CslEntry(BibEntry, frozen=True, gc=False):
    """A CSL item as an entry: its range and the ranges of its fields are those of its id."""

    @property
    def span(self) -> Span:
        """The id."""
        return self.key_span

    @property
    def end(self) -> int:
        """Offset after the id."""
        return self.key_span.end

    @property
    def key_span(self) -> Span:
        """The id."""
        return Span(self.start, self.start + len(self.key))

    def _field(self, index: int, marks: memoryview) -> BibField:
        body, place = self.body, self.key_span
        return BibField(body.names[index], body.raw(index), place, place, body.strings)


class BibBlock(msgspec.Struct, frozen=True):
    """A @string, @preamble or @comment."""

    type: str
    start: int
    body: BibBody

    @property
    def span(self) -> Span:
        """The range from `@` to the closing delimiter."""
        return Span(self.start, self.start + self.body.length)


class BibFile(msgspec.Struct, frozen=True, dict=True):
    """A .bib file, parsed once."""

    path: str
    text: str
    entries: tuple[BibEntry, ...] = ()
    strings: dict[str, str] = msgspec.field(default_factory=dict)
    """The @string macros, from lower-case name to raw value."""
    blocks: tuple[BibBlock, ...] = ()
    regions: tuple[Span, ...] = ()
    """The ranges of bibliographies in the text of a document."""
    is_csl: bool = False
    """Whether the file is CSL (JSON or YAML): only the ranges of keys are exact."""

    @cached_property
    def by_key(self) -> dict[str, BibEntry]:
        """The first entry of each key."""
        table: dict[str, BibEntry] = {}
        for entry in self.entries:
            table.setdefault(entry.key, entry)
        return table

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The faults of the file, by line; `entries` holds every intact entry."""
        faults = sorted(self._faults(), key=lambda fault: fault.at)
        problems: list[Problem] = []
        newline = "\n" if "\n" in self.text else "\r"
        line, at = 1, 0
        for fault in faults:
            line += self.text.count(newline, at, fault.at)
            at = fault.at
            problems.append(Problem(fault.code, fault.message, fault.hint, self.path, line))
        return tuple(problems)

    def _faults(self) -> Iterator[BibFault]:
        seen: dict[str, BibEntry] = {}
        for entry in self.entries:
            for fault in entry.body.faults:
                yield msgspec.structs.replace(fault, at=entry.start + fault.at)
            first = seen.setdefault(entry.key.lower(), entry) if entry.key else entry
            if first is not entry:
                yield _duplicate(entry, first.key)
        for block in self.blocks:
            for fault in block.body.faults:
                yield msgspec.structs.replace(fault, at=block.start + fault.at)


def _duplicate(entry: BibEntry, other: str) -> BibFault:
    at = entry.start + entry.body.key_at
    if other == entry.key:
        message = f'The key "{entry.key}" is already used above.'
    else:
        message = f'The key "{entry.key}" differs from "{other}" above only in case.'
    return BibFault("bib-duplicate-key", message, "Rename or remove one of the two entries.", at)


class TextEdit(msgspec.Struct, frozen=True):
    """Replace `span` of a file's text by `text`."""

    span: Span
    text: str


class FileEdit(msgspec.Struct, frozen=True):
    """Edits of one file, sorted and without overlap. All other bytes stay as they are."""

    path: str
    edits: tuple[TextEdit, ...]
    create: bool = False
    """Whether the file does not exist yet and is to be created."""
    adds: tuple[str, ...] = ()
    """For a .bib: the keys of new entries, one for each. Every entry that is named neither here nor
    in `removes` stays."""
    removes: tuple[str, ...] = ()
    """For a .bib: the keys of removed entries."""
