"""What an entry of a .bib file says, wherever it stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, cached_property
from struct import Struct
from typing import NamedTuple

import msgspec
from msgspec.structs import force_setattr

from citewell.model.bib_value import literal_value, plain_value
from citewell.model.fields import ARXIV_FIELDS
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import split_authors
from citewell.model.titles import title_key
from citewell.model.work import Author

_HEAD = Struct("4I")
_NEXT = _HEAD.size
"""Bytes of the marks of one field, and of what precedes the first."""
_PAIR = Struct("2I")
_PAIR_AT = _NEXT + _PAIR.size
_IDENTITY = Struct("3qB")
NO_IDENTITY = bytes(_IDENTITY.size)
"""`BibBody.identity_bytes` of an entry that says nothing."""
_ARXIV_HINTS = ("xiv", "eprint", "abs/", "huggingface")


@cache
def _numbers(count: int) -> Struct:
    """The layout of that many native 32-bit numbers."""
    return Struct(f"{count}I")


class BibFault(msgspec.Struct, frozen=True):
    """Something wrong inside an entry, at an offset relative to the entry's start."""

    code: str
    message: str
    hint: str
    at: int


class Identity(NamedTuple):
    """What the entries of one work have in common: numbers that differ, but for a chance in 2^64,
    where the texts differ. They are valid in this process only; 0 stands for what is missing."""

    doi: int
    arxiv: int
    title: int
    """Of the blocking key."""
    title_length: int
    """Characters of the blocking key, up to 255."""


class BibBody(msgspec.Struct, frozen=True, dict=True, eq=False):
    """The content of one entry, independent of its place. Compared and hashed by identity:
    unchanged entries keep their body when the file is read again.

    A file may have a hundred thousand of them, and all live as long as it is open. So the text is
    not copied from the file's, the offsets are packed, and what is asked of every body is kept as
    numbers. (What is kept of a few, as cached properties, takes 200 bytes each.)
    """

    source: str
    """The text in which the entry was read: that of the whole file, or its own."""
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
    """The digest of what is to be looked up of the entry (`features.checking.verify`), None for
    nothing; unset while that is not known."""
    linted: int = 0
    """Bits of `features.checking.lint_bibs`: whether it has all fields for BibTeX, for biblatex."""
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
        """The body that begins at an offset of a text."""
        packed = _numbers(4 + len(marks)).pack(start, length, key_at, reach, *marks)
        return cls(source, packed, names, strings, faults, closed)

    @property
    def text(self) -> str:
        """From `@` to the closing delimiter; cut out at each call."""
        start, length, _, _ = _HEAD.unpack_from(self.packed)
        return self.source[start : start + length]

    @property
    def length(self) -> int:
        """Of the text, in code points."""
        return _PAIR.unpack_from(self.packed)[1]  # type: ignore[no-any-return]

    @property
    def key_at(self) -> int:
        """Offset of the key in `text`."""
        return _PAIR.unpack_from(self.packed, 8)[0]  # type: ignore[no-any-return]

    @property
    def reach(self) -> int:
        """How many code points from the entry's start were looked at to read it."""
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
        """The plain value of a field, or ""; of a field given twice the first, as in BibTeX."""
        if name not in self.names:
            return ""
        return plain_value(name, self.raw(self.names.index(name)), self.strings)

    def set_question(self, digest: bytes | None) -> None:
        """Remember the digest of what is to be looked up."""
        force_setattr(self, "question", digest)

    def set_linted(self, bit: int) -> None:
        """Remember that the lint misses nothing."""
        force_setattr(self, "linted", self.linted | bit)

    @property
    def identity(self) -> Identity:
        """What the body has in common with others of the same work. Computed once."""
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
        """Up to `count` authors, for a line about an entry: not kept, and no others are read."""
        if "author" not in self.names:
            return ()
        raw = self.raw(self.names.index("author"))
        return tuple(split_authors(literal_value(raw, self.strings), count))

    @property
    def year(self) -> int | None:
        """The year of `year` or of biblatex's `date`."""
        for name in ("year", "date"):
            if name not in self.names:
                continue
            raw = self.raw(self.names.index(name))
            digits = raw[1:-1]  # as nearly all are written
            if len(raw) != 6 or not digits.isdecimal():
                digits = plain_value(name, raw, self.strings).strip(" ()~c.")[:4]
            if len(digits) == 4 and digits.isdecimal():
                return int(digits)
        return None

    @cached_property
    def doi(self) -> str:
        """The normalised DOI, from `doi` or from a link that holds one. Kept; to look for an entry
        among many, compare `identity` first."""
        return self._doi()

    def _doi(self) -> str:
        if "10." not in self.text:
            return ""
        return normalise_doi(self.get("doi")) or normalise_doi(self.get("url"))

    @cached_property
    def arxiv(self) -> str:
        """The arXiv identifier, from whichever field holds one."""
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
