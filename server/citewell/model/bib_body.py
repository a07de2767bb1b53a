"""The content of a .bib entry, without its position."""

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
