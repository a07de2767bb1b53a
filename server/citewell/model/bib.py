"""A parsed .bib file: entries with exact ranges, and edits that keep the rest.

The content of an entry (`BibBody`) is separate from its position (`BibEntry.start`): an edit at the
top of a large file moves the entries below it without parsing them again, and whatever was computed
from a body stays valid as long as the body lives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from struct import Struct
from typing import NamedTuple

import msgspec
from msgspec.structs import force_setattr

from citewell.model.document import Span
from citewell.model.fields import ARXIV_FIELDS, with_trait
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import split_authors
from citewell.model.problem import Problem
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import title_key
from citewell.model.work import Author

# The content of a .bib entry, without its position.

# The value of a BibTeX field as plain Unicode.

MONTHS: Mapping[str, str] = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May",
    "jun": "June", "jul": "July", "aug": "August", "sep": "September", "oct": "October",
    "nov": "November", "dec": "December",
}  # fmt: skip
"""The macros that every BibTeX style defines."""

_VERBATIM = with_trait("verbatim")

_PART = re.compile(r"\s*(?:#\s*)?(?:(\d+)|([^\s\"{}#,]+)|([\"{]))")
_ESCAPED = re.compile(r"\\([_%&#$~{}])|[{}\s]")
_URL = re.compile(r"^\s*\\(?:url|path|nolinkurl)\s*\{(.*)\}\s*$", re.DOTALL)


def plain_value(name: str, raw: str, strings: Mapping[str, str]) -> str:
    """The plain text of a field's raw value: delimiters, braces, accents, macros, `#` resolved.

    `strings` maps the file's own @string macros (lower case) to raw values; an unknown macro yields
    its name. A value without its closing delimiter is read to its end.
    """
    text = literal_value(raw, strings)
    if name in _VERBATIM:
        found = _URL.match(text)
        return _ESCAPED.sub(r"\1", found[1] if found else text)
    return tex_to_unicode(text)


def literal_value(raw: str, strings: Mapping[str, str], depth: int = 0) -> str:
    """The value with macros and `#` resolved and LaTeX markup left in."""
    if not raw:
        return ""
    first = raw[0]
    if first in '{"' and "#" not in raw:
        closing = "}" if first == "{" else '"'
        return raw[1:-1] if len(raw) > 1 and raw[-1] == closing else raw[1:]
    if first.isdigit() and raw.isdigit():
        return raw
    return "".join(_parts(raw, strings, depth))


def _parts(raw: str, strings: Mapping[str, str], depth: int) -> list[str]:
    parts: list[str] = []
    at = 0
    while (token := _PART.match(raw, at)) is not None:
        if token[3] is None:
            parts.append(token[1] or _macro(token[2], strings, depth))
            at = token.end()
            continue
        begin = token.end()
        at = literal_end(raw, begin - 1, len(raw))
        if at < 0:
            parts.append(raw[begin:])
            break
        parts.append(raw[begin : at - 1])
    return parts


def _macro(name: str, strings: Mapping[str, str], depth: int) -> str:
    lower = name.lower()
    raw = strings.get(lower)
    if raw is None:
        return MONTHS.get(lower, name)
    # Ends recursive macros.
    return literal_value(raw, strings, depth + 1) if depth < 8 else name


_BRACE = re.compile(r"[{}]")
_BRACE_OR_QUOTE = re.compile(r"[{}\"]")


def literal_end(text: str, start: int, limit: int) -> int:
    """Offset after the delimiter that closes the literal opened at `start`, or -1. BibTeX counts
    every brace, escaped or not; a quote inside braces does not close."""
    depth = 0
    if text[start] == "{":
        for brace in _BRACE.finditer(text, start, limit):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                return brace.end()
        return -1
    for mark in _BRACE_OR_QUOTE.finditer(text, start + 1, limit):
        char = mark.group()
        if char == '"':
            if depth == 0:
                return mark.end()
        else:
            depth += 1 if char == "{" else -1
            if depth < 0:
                return -1
    return -1


_HEAD = Struct("4I")
_NEXT = _HEAD.size
"""Bytes of the offsets of one field, and of the header before the first."""
_PAIR = Struct("2I")
_PAIR_AT = _NEXT + _PAIR.size
_IDENTITY = Struct("3qB")
NO_IDENTITY = bytes(_IDENTITY.size)
"""`BibBody.identity_bytes` of an entry without content."""
_ARXIV_HINTS = ("xiv", "eprint", "abs/", "huggingface")


@cache
def _numbers(count: int) -> Struct:
    """The layout of `count` native 32-bit numbers."""
    return Struct(f"{count}I")


class BibFault(msgspec.Struct, frozen=True):
    """A syntax error inside an entry, at an offset relative to the entry's start."""

    code: str
    message: str
    hint: str
    at: int


class Identity(NamedTuple):
    """Digests by which entries of one work are recognised: different texts have different numbers,
    but for a chance of 1 in 2^64. Valid in this process only; 0 stands for a missing field."""

    doi: int
    arxiv: int
    title: int
    """Digest of the blocking key."""
    title_length: int
    """Characters of the blocking key, up to 255."""


class BibBody(msgspec.Struct, frozen=True, dict=True, eq=False):
    """The content of one entry, without its position. Compared and hashed by identity: unchanged
    entries keep their body when the file is read again.

    A file may have a hundred thousand of them, and all live as long as it is open. Therefore the
    text is not copied, the offsets are packed, and values needed of every body are kept as numbers.
    (A cached property takes 200 bytes.)
    """

    source: str
    """The text that the entry was parsed from: the whole file, or the entry alone."""
    packed: bytes
    """Native 32-bit numbers: where the entry begins in `source`, its length, the offset of its key,
    `reach`; then four for each field, counted from the `@`: name start, name end, value start,
    value end."""
    names: tuple[str, ...]
    """Field names in lower case, in order."""
    strings: Mapping[str, str]
    faults: tuple[BibFault, ...] = ()
    closed: bool = True
    """False when the closing delimiter is missing."""
    question: bytes | msgspec.UnsetType | None = msgspec.UNSET
    """The digest of the entry's lookup (`features.checking.verify`), None if there is nothing to
    look up; unset until it is known."""
    linted: int = 0
    """Bits of `features.checking.lint_bibs`: whether the entry has all fields for BibTeX, for
    biblatex."""
    _identity: bytes = b""

    @classmethod
    def at(
        cls,
        source: str,
        start: int,
        marks: Collection[int],
        names: tuple[str, ...],
        strings: Mapping[str, str],
        *,
        length: int,
        key_at: int,
        reach: int,
        faults: tuple[BibFault, ...] = (),
        closed: bool = True,
    ) -> BibBody:
        """The body that begins at offset `start` of a text."""
        packed = _numbers(4 + len(marks)).pack(start, length, key_at, reach, *marks)
        return cls(source, packed, names, strings, faults, closed)

    @property
    def text(self) -> str:
        """The text from `@` to the closing delimiter; cut out at each call."""
        start, length, _, _ = _HEAD.unpack_from(self.packed)
        return self.source[start : start + length]

    @property
    def length(self) -> int:
        """Length of the text, in code points."""
        return _PAIR.unpack_from(self.packed)[1]  # type: ignore[no-any-return]

    @property
    def key_at(self) -> int:
        """Offset of the key in `text`."""
        return _PAIR.unpack_from(self.packed, 8)[0]  # type: ignore[no-any-return]

    @property
    def reach(self) -> int:
        """Number of code points from the entry's start that the parser looked at."""
        return _PAIR.unpack_from(self.packed, 8)[1]  # type: ignore[no-any-return]

    @property
    def marks(self) -> memoryview:
        """Four offsets per field, counted from the `@`: name start, name end, value start, value
        end."""
        return memoryview(self.packed)[_NEXT:].cast("I")

    def raw(self, index: int) -> str:
        """The raw value of the field at `index`."""
        packed = self.packed
        begin, end = _PAIR.unpack_from(packed, _PAIR_AT + _NEXT * index)
        start, _ = _PAIR.unpack_from(packed)
        return self.source[start + begin : start + end]

    def get(self, name: str) -> str:
        """The plain value of a field, or ""; the first of repeated fields, as in BibTeX."""
        if name not in self.names:
            return ""
        return plain_value(name, self.raw(self.names.index(name)), self.strings)

    def set_question(self, digest: bytes | None) -> None:
        """Store the digest of the entry's lookup."""
        force_setattr(self, "question", digest)

    def set_linted(self, bit: int) -> None:
        """Store that the entry lacks no field for this style."""
        force_setattr(self, "linted", self.linted | bit)

    @property
    def identity(self) -> Identity:
        """The digests by which entries of one work are recognised. Computed once."""
        return Identity(*_IDENTITY.unpack(self.identity_bytes))

    @property
    def identity_bytes(self) -> bytes:
        """`identity` as three native 64-bit numbers and a byte, for tables of many bodies."""
        if not self._identity:
            title = title_key(self.get("title"))
            found = hash(self._doi()), hash(self._arxiv()), hash(title), min(len(title), 255)
            force_setattr(self, "_identity", _IDENTITY.pack(*found))
        return self._identity

    @cached_property
    def authors(self) -> tuple[Author, ...]:
        """The authors in order, without `others`."""
        if "author" not in self.names:
            return ()
        raw = self.raw(self.names.index("author"))
        return tuple(split_authors(literal_value(raw, self.strings)))

    def first_authors(self, count: int) -> tuple[Author, ...]:
        """Up to `count` authors, for a one-line description; not cached."""
        if "author" not in self.names:
            return ()
        raw = self.raw(self.names.index("author"))
        return tuple(split_authors(literal_value(raw, self.strings), count))

    @property
    def year(self) -> int | None:
        """The year from `year` or from biblatex's `date`."""
        for name in ("year", "date"):
            if name not in self.names:
                continue
            raw = self.raw(self.names.index(name))
            digits = raw[1:-1]  # the form of nearly all years
            if len(raw) != 6 or not digits.isdecimal():
                digits = plain_value(name, raw, self.strings).strip(" ()~c.")[:4]
            if len(digits) == 4 and digits.isdecimal():
                return int(digits)
        return None

    @cached_property
    def doi(self) -> str:
        """The normalised DOI, from `doi` or from a link that holds one. Cached; to look for one
        entry among many, compare `identity` first."""
        return self._doi()

    def _doi(self) -> str:
        if "10." not in self.text:
            return ""
        return normalise_doi(self.get("doi")) or normalise_doi(self.get("url"))

    @cached_property
    def arxiv(self) -> str:
        """The arXiv identifier, from any field that may hold one."""
        return self._arxiv()

    def _arxiv(self) -> str:
        text = self.text.lower()
        if not any(hint in text for hint in _ARXIV_HINTS):
            return ""
        if self.get("archiveprefix").lower() not in ("", "arxiv"):
            return ""
        return next((found for name in ARXIV_FIELDS if (found := arxiv_id(self.get(name)))), "")

    @cached_property
    def title_key(self) -> str:
        """The title as a blocking key."""
        return title_key(self.get("title"))


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
