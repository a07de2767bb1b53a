"""The words of many entries in arrays: which entry has a word, in which field.

Postings lie in the order of the sorted vocabulary, so that all words with a common beginning are
one slice: what an author typed so far is found by two binary searches.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from citewell.model.bib import BibEntry
from citewell.model.bib_body import BibBody
from citewell.model.bib_value import plain_value
from citewell.model.titles import fold, in_pairs

KEY, TITLE, YEAR, AUTHOR = 0, 1, 2, 3
FIELD_NAMES = ("key", "title", "year", "author")
"""By field number; the number rises with how much a match in the field says."""

_PIECE = re.compile(r"[^\W\d_]+|\d+|\n")
_NOT_WORD = re.compile(r"[^\w\n]|_")
_END = "\0"
"""Stands between the words of two rows."""
_SEPARATORS = str.maketrans(
    {chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "\n"}
)
_KeyRows = tuple[NDArray[np.int64], NDArray[np.bool_]]


def identities(entries: Sequence[BibEntry]) -> NDArray[np.int64]:
    """The identities of the entries' bodies."""
    return np.fromiter((id(entry.body) for entry in entries), np.int64, len(entries))


class KeySegment:
    """An immutable index over entries; row numbers are positions in `entries`."""

    def __init__(self, entries: Sequence[BibEntry], paths: Sequence[str]) -> None:
        self.entries = entries
        self.paths = paths
        """Path of each entry's file."""
        self.keys = [_folded(entry.key) for entry in entries]
        self._joined = "\n" + "\n".join(self.keys) + "\n"
        lengths = np.fromiter((len(key) + 1 for key in self.keys), np.int64, len(self.keys))
        self.key_lengths = lengths - 1
        self._key_starts = np.cumsum(lengths) - lengths + 1
        """Offset of each key in the joined text."""
        self._last: tuple[str, _KeyRows] | None = None
        """The last result: a single word is looked up both as a word and as part of a key."""
        self._index()

    def _index(self) -> None:
        bodies = [entry.body for entry in self.entries]
        words = (
            _PIECE.findall("\n".join(self.keys).replace(_END, " ")),
            _words([_plain(body, "title") for body in bodies]),
            _words([_year(body) for body in bodies]),
            _words([_plain(body, "author").replace(" and ", " ") for body in bodies]),
        )
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        ends = numbers[_END], numbers["\n"]
        packed: list[NDArray[np.int64]] = []
        for field, found in enumerate(words):
            tokens = np.fromiter(map(numbers.__getitem__, found), np.int64, len(found))
            is_end = tokens <= max(ends)
            rows = np.cumsum(is_end)
            packed.append(((tokens << 34) | (rows << 2) | field)[~is_end])
        all_words = list(numbers)
        order = sorted(range(2, len(all_words)), key=all_words.__getitem__)
        self.vocabulary: list[str] = [all_words[number] for number in order]
        rank = np.zeros(len(all_words), np.int64)
        rank[np.asarray(order, np.int64)] = np.arange(len(order))
        postings = np.concatenate(packed)
        postings = (rank[postings >> 34] << 34) | (postings & ((1 << 34) - 1))
        postings.sort()
        self.token_rows: NDArray[np.int32] = ((postings >> 2) & 0xFFFFFFFF).astype(np.int32)
        self.token_fields: NDArray[np.int8] = (postings & 3).astype(np.int8)
        self.token_starts: NDArray[np.int64] = np.searchsorted(
            postings >> 34, np.arange(len(order) + 1)
        )

    @cached_property
    def bodies(self) -> NDArray[np.int64]:
        """Identities of the indexed bodies by row, which this segment keeps alive."""
        return identities(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def rows_of_key(self, key: str) -> Sequence[int]:
        """Row numbers of an exact key; several files may define the same key."""
        row = self._first_rows.get(key)
        return () if row is None else (row, *self._further_rows.get(key, ()))

    @cached_property
    def _first_rows(self) -> dict[str, int]:
        table: dict[str, int] = {}
        for number, entry in enumerate(self.entries):
            table.setdefault(entry.key, number)
        return table

    @cached_property
    def _further_rows(self) -> dict[str, list[int]]:
        table: dict[str, list[int]] = {}
        first = self._first_rows
        for number, entry in enumerate(self.entries):
            if first[entry.key] != number:
                table.setdefault(entry.key, []).append(number)
        return table

    def postings(self, low: int, high: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Rows and fields of the words numbered [low, high); a row may occur more than once."""
        begin, end = self.token_starts[low], self.token_starts[high]
        return self.token_rows[begin:end], self.token_fields[begin:end]

    def prefix_range(self, beginning: str) -> tuple[int, int]:
        """Numbers [low, high) of the words that start with `beginning`."""
        low = bisect_left(self.vocabulary, beginning)
        return low, bisect_right(self.vocabulary, beginning + "\U0010ffff", lo=low)

    def rows_with_key_part(self, part: str) -> _KeyRows:
        """Rows whose key holds `part`, each once, and whether the key begins with it."""
        if self._last is not None and self._last[0] == part:
            return self._last[1]
        places = self._places(part)
        rows = np.searchsorted(self._key_starts, places, side="right") - 1
        first = np.ones(len(rows), np.bool_)
        np.not_equal(rows[1:], rows[:-1], out=first[1:])
        unique = rows[first]
        found = unique, self._key_starts[unique] == places[first]
        self._last = part, found
        return found

    def rows_with_key_start(self, beginning: str) -> NDArray[np.int64]:
        """Rows whose key starts with `beginning`."""
        return np.searchsorted(self._key_starts, self._places("\n" + beginning) + 1)

    def _places(self, part: str) -> NDArray[np.int64]:
        """Offsets of `part` in the joined keys, ascending. Uses array operations, because a loop
        over twenty thousand matches would take twenty milliseconds."""
        codes = self._codes
        try:
            wanted = _code_points(part, codes.dtype.type)
        except UnicodeEncodeError:
            return np.empty(0, np.int64)
        last = len(codes) - len(wanted) + 1
        if last <= 0 or not len(wanted):
            return np.empty(0, np.int64)
        order = np.argsort(self._often[np.minimum(wanted, 255)], kind="stable").tolist()
        first = order[0]
        places = np.flatnonzero(codes[first : first + last] == wanted[first])
        for number in order[1:]:
            places = places[codes[places + number] == wanted[number]]
        return places

    @cached_property
    def _codes(self) -> NDArray[np.uint8] | NDArray[np.uint32]:
        """The joined keys as numbers, of one byte each where they are ASCII."""
        kind = np.uint8 if self._joined.isascii() else np.uint32
        return _code_points(self._joined, kind)

    @cached_property
    def _often(self) -> NDArray[np.int64]:
        """Shape (256,): how often each code occurs in the joined keys (the last entry: all codes
        from 255 on); a search starts with its rarest letter."""
        return np.bincount(np.minimum(self._codes, 255), minlength=256)


def _folded(key: str) -> str:
    """A key as it is searched for; the same object where it is that already."""
    folded = fold(key).replace("\n", " ")
    return key if folded == key else folded


def _code_points(text: str, kind: type[np.generic]) -> NDArray[np.uint8] | NDArray[np.uint32]:
    """The code points of a text. Raises `UnicodeEncodeError` if it is not ASCII and `kind` has one
    byte."""
    if kind is np.uint8:
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _plain(body: BibBody, name: str) -> str:
    """A field's text, close enough to plain for its words; fast for the common value."""
    if name not in body.names:
        return ""
    raw = body.raw(body.names.index(name))
    if raw[:1] in ("{", '"') and "\\" not in raw and "#" not in raw:
        return raw
    return plain_value(name, raw, body.strings)


def _year(body: BibBody) -> str:
    """The year, and its last two digits as a second word."""
    year = (_plain(body, "year") or _plain(body, "date")).strip('{}" ')[:4]
    return f"{year} {year[-2:]}" if year.isdecimal() else ""


def _words(lines: Sequence[str]) -> list[str]:
    """The folded words of all lines, with `_END` between lines.

    ASCII lines go through one translation together, which is many times faster than one by one.
    """
    joined = "\n".join([line.replace("\n", " ") if line.isascii() else "" for line in lines])
    for vanishing in "{}'":
        joined = joined.replace(vanishing, "")
    folded = joined.lower().translate(_SEPARATORS).split("\n")
    other = [at for at, line in enumerate(lines) if not line.isascii()]
    if other:
        joined = fold("\n".join([lines[at].replace("\n", " ") for at in other]))
        joined = joined.replace("{", "").replace("}", "")
        for at, line in zip(other, in_pairs(_NOT_WORD.sub(" ", joined)).split("\n"), strict=True):
            folded[at] = line
    return f" {_END} ".join(folded).split()
