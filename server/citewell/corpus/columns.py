"""Facts of every paper as arrays: what the ranker reads for a thousand candidates at once.

The catalogue gives whole records, a few at a time. A ranker needs years, surnames and title words
of every candidate within milliseconds, so each segment also holds them as columns. Words and names
are stored as 32-bit hashes, with one collision in a few million pairs, which a ranker tolerates.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.corpus.compact.catalogue import CompactColumns
from citewell.corpus.errors import unreadable_index
from citewell.corpus.layout import SegmentView
from citewell.model import Work
from citewell.model.names import family_key
from citewell.model.titles import fold_name, normalise_title

FORMAT = 1
NAME = "columns"
_AUTHORS = 12
"""Number of surnames stored of one paper: the first ones, and the last."""
_REPORTED = 4096
_WORD_COUNTS = ("title_words.npy", "title_word_counts.npy")
"""Files with the distinct title words of a segment, and the number of titles with each."""


@lru_cache(maxsize=8192)
def word_hash(word: str) -> int:
    """32-bit hash of a lower-case word without its plural "s"."""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return zlib.crc32(word.encode("utf-8", "ignore"))


@lru_cache(maxsize=8192)
def name_hash(name: str) -> int:
    """32-bit hash of the letters and digits of a surname or of a title's opening name."""
    return zlib.crc32(fold_name(name).encode("utf-8", "ignore"))


@lru_cache(maxsize=4096)
def title_key(title: str) -> int:
    """64-bit key of a title, equal for all records of a paper; 0 for none."""
    plain = normalise_title(title)
    if not plain:
        return 0
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8"), digest_size=8).digest(), "little")


def title_words(title: str) -> list[int]:
    """Hashes of the distinct words of a title, in order."""
    return [word_hash(word) for word in dict.fromkeys(normalise_title(title).split())]


def opening_name(title: str) -> str:
    """The name before a title's colon ("BERT: Pre-training ..."), or ""."""
    head, colon, rest = title.partition(":")
    return head.strip() if colon and rest.strip() and len(head.split()) <= 3 else ""


def year_match(
    years: NDArray[np.int16], named: Sequence[int], *, other: float, none: float
) -> NDArray[np.float32]:
    """1 for a year in `named`, 0.5 for an adjacent one, else `other`; `none` for all years if
    `named` is empty."""
    if not named:
        return np.full(len(years), none, np.float32)
    gap = np.abs(years.astype(np.int32)[:, None] - np.array(named, np.int32)).min(axis=1)
    return np.select([gap == 0, gap == 1], [1.0, 0.5], other).astype(np.float32)


class Columns(msgspec.Struct, frozen=True):
    """The columns of some papers. `x_starts` bounds each paper's run in `x`, shape (n + 1,)."""

    key: NDArray[np.uint64]
    year: NDArray[np.int16]
    """0 where unknown."""
    abstract: NDArray[np.bool_]
    """Whether the record has one."""
    venue: NDArray[np.uint32]
    opening: NDArray[np.uint32]
    """Hash of the name before a colon; 0 for none."""
    initials: NDArray[np.uint32]
    """Hash of the initials of the title's first words ("lstm"); 0 for none."""
    word: NDArray[np.uint32]
    word_starts: NDArray[np.int64]
    surname: NDArray[np.uint32]
    surname_starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.key)


class ColumnsBuilder:
    """Writes the columns of one segment."""

    name = NAME

    def fingerprint(self) -> Mapping[str, Any]:
        """The format alone: there are no settings."""
        return {"format": FORMAT}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write one .npy file for each column."""
        columns = columns_of(works(), progress)
        if len(columns) != count:
            raise ValueError(f"{count} works were expected and {len(columns)} arrived")
        for field in Columns.__struct_fields__:
            np.save(into / f"{field}.npy", getattr(columns, field), allow_pickle=False)
        words, counts = (into / name for name in _WORD_COUNTS)
        kept, number = np.unique(columns.word, return_counts=True)
        np.save(words, kept, allow_pickle=False)
        np.save(counts, number, allow_pickle=False)


def columns_of(works: Iterable[Work], progress: Callable[[int], None] | None = None) -> Columns:
    """The columns of these works, in order."""
    key, year, abstract = array("Q"), array("h"), array("b")
    venue, opening, initials = array("I"), array("I"), array("I")
    word, word_starts = array("I"), array("q", (0,))
    surname, surname_starts = array("I"), array("q", (0,))
    reported = 0
    for number, work in enumerate(works, 1):
        key.append(title_key(work.title))
        year.append(work.year if work.year is not None and 0 < work.year < 3000 else 0)
        abstract.append(bool(work.abstract))
        venue.append(name_hash(work.venue) if work.venue else 0)
        name = opening_name(work.title)
        opening.append(name_hash(name) if name else 0)
        parts = normalise_title(work.title.partition(":")[2] if name else work.title).split()
        initials.append(zlib.crc32("".join(p[0] for p in parts).encode()) if parts else 0)
        word.extend(title_words(work.title))
        word_starts.append(len(word))
        authors = work.authors
        if len(authors) > _AUTHORS:
            authors = (*authors[: _AUTHORS - 1], authors[-1])
        surname.extend(name_hash(family_key(author)) for author in authors)
        surname_starts.append(len(surname))
        if progress is not None and number - reported == _REPORTED:
            progress(_REPORTED)
            reported = number
    if progress is not None:
        progress(len(key) - reported)
    return Columns(
        np.array(key, np.uint64),
        np.array(year, np.int16),
        np.array(abstract, np.bool_),
        np.array(venue, np.uint32),
        np.array(opening, np.uint32),
        np.array(initials, np.uint32),
        np.array(word, np.uint32),
        np.array(word_starts, np.int64),
        np.array(surname, np.uint32),
        np.array(surname_starts, np.int64),
    )


class LibraryColumns:
    """The columns of all segments of a library, read by library-wide row."""

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        self._bases = np.array([s.base for s in segments], np.int64)
        self._parts = [_open(segment) for segment in segments]
        self._folders = [segment.index(NAME) for segment in segments]
        self.end = max((s.base + s.count for s in segments), default=0)

    def parts(self) -> Iterator[tuple[int, Columns | CompactColumns]]:
        """Each segment's first row and its columns, mapped from the files."""
        yield from zip(self._bases.tolist(), self._parts, strict=True)

    def rows_by(self, name: int) -> NDArray[np.int64]:
        """Rows with an author of this surname hash, ascending: scans all surnames."""
        found = [base + _rows_by(part, name) for base, part in self.parts()]
        return distinct(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def rows_abbreviated(self, initials: str) -> NDArray[np.int64]:
        """Rows with titles of these initials, ascending: scans all titles."""
        wanted = np.uint32(zlib.crc32(initials.encode()))
        found = [base + np.flatnonzero(part.initials == wanted) for base, part in self.parts()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def first_authors(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Surname hash of each row's first author, 0 without authors."""
        out = np.zeros(len(rows), np.uint32)
        for base, part in self.parts():
            own = np.flatnonzero((rows >= base) & (rows < base + len(part)))
            if isinstance(part, CompactColumns):
                out[own] = part.first_authors(rows[own] - base)
                continue
            begin = part.surname_starts[rows[own] - base]
            filled = begin < part.surname_starts[rows[own] - base + 1]
            out[own[filled]] = part.surname[begin[filled]]
        return out

    def keys(self) -> NDArray[np.uint64]:
        """Title keys of every row, shape (end,)."""
        return self._every("key", np.uint64)

    def years(self) -> NDArray[np.int16]:
        """Years of every row, shape (end,)."""
        return self._every("year", np.int16)

    def abstracts(self) -> NDArray[np.bool_]:
        """Whether each row has an abstract, shape (end,)."""
        return self._every("abstract", np.bool_)

    def _every(self, name: str, kind: type[Any]) -> NDArray[Any]:
        """One column of all segments; that of a single segment is mapped, not copied."""
        columns = [getattr(part, name) for part in self._parts]
        if len(columns) == 1:
            return np.asarray(columns[0])
        out = np.zeros(self.end, kind)
        for base, column in zip(self._bases, columns, strict=True):
            out[base : base + len(column)] = column
        return out

    def word_counts(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Title words, sorted, and the number of titles with each."""
        counted = [
            _word_counts(part, folder)
            for part, folder in zip(self._parts, self._folders, strict=True)
        ]
        if len(counted) == 1:
            return counted[0]
        every = np.concatenate([words for words, _ in counted] or [np.zeros(0, np.uint32)])
        found, place = np.unique(every, return_inverse=True)
        counts = np.concatenate([counts for _, counts in counted] or [np.zeros(0, np.int64)])
        return found, np.bincount(place, counts, len(found)).astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> Columns:
        """The columns of these rows, in order."""
        number = np.searchsorted(self._bases, rows, side="right") - 1
        if len(self._parts) == 1:
            return _take(self._parts[0], rows - self._bases[0])
        pieces = [
            (np.flatnonzero(number == n), part, self._bases[n])
            for n, part in enumerate(self._parts)
        ]
        order = np.concatenate([at for at, _, _ in pieces]) if pieces else np.zeros(0, np.int64)
        joined = _join([_take(part, rows[at] - base) for at, part, base in pieces if len(at)])
        return _take(joined, np.argsort(order, kind="stable"))


def _rows_by(part: Columns | CompactColumns, name: int) -> NDArray[np.int64]:
    if isinstance(part, CompactColumns):
        return part.rows_by(name)
    at = np.flatnonzero(part.surname == np.uint32(name))
    return np.searchsorted(part.surname_starts, at, side="right") - 1


def _word_counts(
    part: Columns | CompactColumns, folder: Path
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    if isinstance(part, CompactColumns):
        return part.word_counts()
    words, counts = (np.load(folder / name, allow_pickle=False) for name in _WORD_COUNTS)
    return words, counts


def _take(part: Columns | CompactColumns, rows: NDArray[np.int64]) -> Columns:
    if isinstance(part, CompactColumns):
        words, surnames = part.words(rows), part.surnames(rows)
        word, word_starts = words.values, words.starts
        surname, surname_starts = surnames.values, surnames.starts
    else:
        word, word_starts = _runs(part.word, part.word_starts, rows)
        surname, surname_starts = _runs(part.surname, part.surname_starts, rows)
    return Columns(
        part.key[rows], part.year[rows], part.abstract[rows], part.venue[rows],
        part.opening[rows], part.initials[rows], word, word_starts, surname, surname_starts,
    )  # fmt: skip


def _runs(
    values: NDArray[np.uint32], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    begin, count = starts[rows], starts[rows + 1] - starts[rows]
    ends = np.cumsum(count)
    place = np.arange(count.sum()) + np.repeat(begin - (ends - count), count)
    return values[place], np.concatenate([np.zeros(1, np.int64), ends])


def _join(parts: Sequence[Columns]) -> Columns:
    if not parts:
        return columns_of(())

    def flat(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    def starts(name: str) -> NDArray[np.int64]:
        lengths = [np.diff(getattr(part, name)) for part in parts]
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])

    return Columns(
        flat("key"), flat("year"), flat("abstract"), flat("venue"), flat("opening"),
        flat("initials"), flat("word"), starts("word_starts"), flat("surname"),
        starts("surname_starts"),
    )  # fmt: skip


def _open(segment: SegmentView) -> Columns | CompactColumns:
    folder = segment.index(NAME)
    try:
        if CompactColumns.is_in(segment.path):
            return CompactColumns(segment.path, segment.count, title_words)
        columns = Columns(
            *(
                # A plain view: slicing a memmap object costs ten times as much.
                np.load(folder / f"{field}.npy", mmap_mode="r" if segment.count else None,
                        allow_pickle=False).view(np.ndarray)
                for field in Columns.__struct_fields__
            )
        )  # fmt: skip
        lengths = {len(columns.year), len(columns.opening), len(columns.word_starts) - 1,
                   len(columns.surname_starts) - 1, len(columns.key)}  # fmt: skip
        if lengths != {segment.count}:
            raise ValueError("its files are inconsistent")
    except (OSError, ValueError) as error:
        raise unreadable_index(
            "The ranker's columns", error, folder, "Run `citewell library build` to rebuild them."
        ) from error
    return columns


def title_keys(titles: Iterable[str]) -> NDArray[np.uint64]:
    """Keys of several titles."""
    return np.array([title_key(title) for title in titles], np.uint64)


__all__ = [
    "Columns",
    "ColumnsBuilder",
    "LibraryColumns",
    "columns_of",
    "fold_name",
    "name_hash",
    "opening_name",
    "title_key",
    "title_keys",
    "title_words",
    "word_hash",
]
