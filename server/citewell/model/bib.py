"""A .bib file as Citewell sees it: entries with exact ranges, and edits that keep the rest.

What an entry says (`BibBody`) is kept apart from where it stands (`BibEntry.start`), so that an
edit at the top of a large file moves the entries below it without reading them again, and so that
whatever was computed from a body stays valid for as long as that body lives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from struct import Struct
from typing import Any

import msgspec

from citewell.model.bib_value import literal_value, plain_value
from citewell.model.document import Span
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.names import split_authors
from citewell.model.problem import Problem
from citewell.model.titles import title_key
from citewell.model.work import Author

_VALUE_MARKS = Struct("2I")
_ARXIV_HINTS = ("xiv", "eprint", "abs/", "huggingface")


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


class BibFault(msgspec.Struct, frozen=True):
    """Something wrong inside an entry, at an offset relative to the entry's start."""

    code: str
    message: str
    hint: str
    at: int


class BibBody(msgspec.Struct, frozen=True, dict=True, eq=False):
    """The content of one entry, independent of its place. Compared and hashed by identity:
    unchanged entries keep their body when the file is read again."""

    text: str
    """From `@` to the closing delimiter."""
    key_at: int
    """Offset of the key in `text`."""
    names: tuple[str, ...]
    """Field names in lower case, in order."""
    marks: bytes
    """Four native 32-bit offsets per field: name start, name end, value start, value end."""
    strings: Mapping[str, str]
    faults: tuple[BibFault, ...] = ()
    reach: int = 0
    """How many code points from the entry's start were looked at to read it."""
    closed: bool = True
    """False when the closing delimiter is missing."""

    def raw(self, index: int) -> str:
        """The raw value of the field at `index`."""
        begin, end = _VALUE_MARKS.unpack_from(self.marks, 16 * index + 8)
        return self.text[begin:end]

    def get(self, name: str) -> str:
        """The plain value of a field, or ""; of a field given twice the first, as in BibTeX."""
        if name not in self.names:
            return ""
        return plain_value(name, self.raw(self.names.index(name)), self.strings)

    @property
    def notes(self) -> dict[str, Any]:
        """What others computed from this body alone, by name; lives as long as the body. (The
        dictionary that holds the properties below: one for each of many thousand bodies.)"""
        return self.__dict__

    @cached_property
    def authors(self) -> tuple[Author, ...]:
        """The authors in order, without `others`."""
        if "author" not in self.names:
            return ()
        raw = self.raw(self.names.index("author"))
        return tuple(split_authors(literal_value(raw, self.strings)))

    def first_authors(self, count: int) -> tuple[Author, ...]:
        """Up to `count` authors, for a line about an entry: not kept, and no others are read."""
        if "authors" in self.__dict__:
            return self.authors[:count]
        if "author" not in self.names:
            return ()
        raw = self.raw(self.names.index("author"))
        return tuple(split_authors(literal_value(raw, self.strings), count))

    @cached_property
    def year(self) -> int | None:
        """The year of `year` or of biblatex's `date`."""
        for name in ("year", "date"):
            digits = self.get(name).strip(" ()~c.")[:4]
            if len(digits) == 4 and digits.isdecimal():
                return int(digits)
        return None

    @cached_property
    def doi(self) -> str:
        """The normalised DOI, from `doi` or from a link that holds one."""
        if "10." not in self.text:
            return ""
        return normalise_doi(self.get("doi")) or normalise_doi(self.get("url"))

    @cached_property
    def arxiv(self) -> str:
        """The arXiv identifier, from whichever field holds one."""
        names = ("eprint", "arxivid", "archiveprefix", "url", "journal", "note", "doi", "volume")
        text = self.text.lower()
        if not any(hint in text for hint in _ARXIV_HINTS):
            return ""
        if self.get("archiveprefix").lower() not in ("", "arxiv"):
            return ""
        return next((found for name in names if (found := arxiv_id(self.get(name)))), "")

    @cached_property
    def title_key(self) -> str:
        """The title as a blocking key."""
        return title_key(self.get("title"))


class BibEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry at its place in the file. (It is in no reference cycle: not tracked.)"""

    type: str
    """Entry type in lower case."""
    key: str
    start: int
    """Offset of `@` in the file."""
    body: BibBody

    @property
    def span(self) -> Span:
        """From `@` to the closing delimiter."""
        return Span(self.start, self.start + len(self.body.text))

    @property
    def end(self) -> int:
        """Offset after the closing delimiter."""
        return self.start + len(self.body.text)

    @property
    def key_span(self) -> Span:
        """Where the key stands; an empty range at its place when it is missing."""
        start = self.start + self.body.key_at
        return Span(start, start + len(self.key))

    @property
    def names(self) -> tuple[str, ...]:
        """Field names in lower case, in order."""
        return self.body.names

    @property
    def fields(self) -> tuple[BibField, ...]:
        """The fields in order, with absolute ranges; built at each call."""
        marks = memoryview(self.body.marks).cast("I")
        return tuple(self._field(index, marks) for index in range(len(self.body.names)))

    def fields_of(self, names: Collection[str]) -> list[BibField]:
        """The fields of some names, in order."""
        marks = memoryview(self.body.marks).cast("I")
        found = enumerate(self.body.names)
        return [self._field(index, marks) for index, name in found if name in names]

    def _field(self, index: int, marks: memoryview) -> BibField:
        body, start, at = self.body, self.start, 4 * index
        begin, end = marks[at + 2], marks[at + 3]
        return BibField(
            body.names[index],
            body.text[begin:end],
            Span(start + marks[at], start + marks[at + 1]),
            Span(start + begin, start + end),
            body.strings,
        )

    def get(self, name: str) -> str:
        """The plain value of a field, or the empty string."""
        return self.body.get(name)


class BibBlock(msgspec.Struct, frozen=True):
    """A @string, @preamble or @comment."""

    type: str
    start: int
    body: BibBody

    @property
    def span(self) -> Span:
        """From `@` to the closing delimiter."""
        return Span(self.start, self.start + len(self.body.text))


class BibFile(msgspec.Struct, frozen=True, dict=True):
    """One .bib file, read once."""

    path: str
    text: str
    entries: tuple[BibEntry, ...] = ()
    strings: dict[str, str] = msgspec.field(default_factory=dict)
    """The @string macros: name in lower case to raw value."""
    blocks: tuple[BibBlock, ...] = ()

    @cached_property
    def by_key(self) -> dict[str, BibEntry]:
        """The first entry of each key."""
        table: dict[str, BibEntry] = {}
        for entry in self.entries:
            table.setdefault(entry.key, entry)
        return table

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong in the file, by line; the good entries are all in `entries`."""
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
    """Edits of one file, sorted and not overlapping. The bytes outside of them do not change."""

    path: str
    edits: tuple[TextEdit, ...]
    create: bool = False
    """The file does not exist yet and is to be created."""
    adds: tuple[str, ...] = ()
    """Of a .bib: the keys of the entries that it has afterwards and did not have before, one for
    each. Every entry that is named neither here nor in `removes` stays."""
    removes: tuple[str, ...] = ()
    """Of a .bib: the keys of the entries that it had before and does not have afterwards."""
