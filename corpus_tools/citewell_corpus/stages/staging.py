"""Staged records of one source, and the numbers that merging needs.

The works go to a file of frames. The numbers, some hundred bytes a record, are mapped from files
when the sources are merged.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.keys import (
    arxiv_number,
    doi_number,
    identity_numbers,
    key_number,
    record_numbers,
    title_key_number,
)
from citewell.model import Work
from citewell.model.identifiers import acl_id
from citewell.model.names import family_key
from citewell.model.titles import title_key
from citewell.sources.combine import (
    CURATED,
    family,
    is_preprint,
    is_preprint_doi,
    is_workshop,
    work_trust,
)

_LENGTH = struct.Struct("<I")

KINDS = {"article": 1, "inproceedings": 2, "conference": 2, "incollection": 2, "inbook": 3}
"""Kinds that distinguish two records of one title; 0 for all others."""

GENERIC = frozenset(
    [
        "acknowledgments",
        "acknowledgements",
        "announcements",
        "booksreceived",
        "callforpapers",
        "editorialboard",
        "editorialnote",
        "editorsintroduction",
        "guesteditorial",
        "guesteditorsintroduction",
        "indexofauthors",
        "letterfromtheeditor",
        "listofreviewers",
        "messagefromthechairs",
        "openingremarks",
        "presidentialaddress",
        "programcommittee",
        "tableofcontents",
        "tutorialabstracts",
    ]
)
"""Title keys of generic titles; shorter titles always count as generic."""
_SHORT = 12
_LONG = 24


class RecordKeyTable(msgspec.Struct):
    """Numbers per record, one array element each; 0: none."""

    doi: NDArray[np.int64]
    arxiv: NDArray[np.int64]
    title: NDArray[np.int64]
    pages: NDArray[np.int64]
    venue: NDArray[np.int64]
    source: NDArray[np.int64]
    """Family of the source."""
    year: NDArray[np.int16]
    kind: NDArray[np.int8]
    trust: NDArray[np.int16]
    flags: NDArray[np.int8]
    names: NDArray[np.int64]
    """Surnames of all records in sequence."""
    name_end: NDArray[np.int64]
    own: NDArray[np.int64]
    """Ids of all records in sequence."""
    own_end: NDArray[np.int64]
    ids: NDArray[np.int64]
    """Other identities of all records, such as their DOI, in sequence."""
    id_end: NDArray[np.int64]
    offset: NDArray[np.int64]
    """Offset of the record's frame."""

    def __len__(self) -> int:
        return len(self.offset)


_TYPES: dict[str, type[np.generic]] = {
    "year": np.int16, "kind": np.int8, "trust": np.int16, "flags": np.int8,
}  # fmt: skip
"""Types of the columns other than int64."""
PREPRINT, CURATED_FLAG, GENERIC_FLAG, LONG_TITLE, OWN_DOI, WORKSHOP = 1, 2, 4, 8, 16, 32
ONLY_IDS = 64
"""A record without a title, which states ids of one work, or withdraws one (`withdraws`)."""


def withdraws(table: RecordKeyTable) -> NDArray[np.int64]:
    """The numbers of the records that withdraw others: without title and with a single id."""
    found: NDArray[np.int64] = np.flatnonzero((table.flags & ONLY_IDS) != 0)
    begin = np.where(found > 0, table.own_end[found - 1], 0)
    single: NDArray[np.bool_] = table.own_end[found] - begin == 1
    return found[single]


class KeyCollector:
    """Gathers the numbers of works one by one."""

    def __init__(self) -> None:
        self._columns = {name: array("q") for name in RecordKeyTable.__struct_fields__}
        self._add = {name: column.append for name, column in self._columns.items()}

    def add(self, work: Work, offset: int) -> None:
        """Append one work with its frame at `offset`."""
        add = self._add
        doi = work.doi
        key = title_key(work.title)
        trust = work_trust(work)
        anthology = acl_id(doi) if doi else ""
        first, _, last = work.pages.partition("-")
        venue = work.venue or work.journal or work.booktitle
        sources = {family(origin.source) for origin in work.provenance}
        add["doi"](0 if not doi or is_preprint_doi(doi) else doi_number(doi) or 0)
        add["arxiv"](arxiv_number(work.arxiv) or 0 if work.arxiv else 0)
        add["title"](title_key_number(key))
        add["pages"](key_number("pages", f"{first}-{last}") if work.pages else 0)
        add["venue"](_venue_number(venue) if venue else 0)
        add["source"](_number("source", " ".join(sorted(sources))))
        add["year"](work.year or 0)
        add["kind"](KINDS.get(work.kind, 0))
        add["trust"](trust)
        add["flags"](
            (PREPRINT if is_preprint(work) else 0)
            | (CURATED_FLAG if trust >= CURATED else 0)
            | (GENERIC_FLAG if key in GENERIC or len(key) <= _SHORT else 0)
            | (LONG_TITLE if len(key) >= _LONG else 0)
            | (OWN_DOI if anthology and anthology == acl_id(work.url) else 0)
            | (WORKSHOP if is_workshop(work) else 0)
            | (0 if work.title else ONLY_IDS)
        )
        for author in work.authors:
            surname = _surname_number(author.family)
            if surname:
                add["names"](surname)
        add["name_end"](len(self._columns["names"]))
        own = record_numbers(work)
        for number in sorted(own):
            add["own"](number)
        add["own_end"](len(self._columns["own"]))
        for number in sorted(identity_numbers(work) - own):
            add["ids"](number)
        add["id_end"](len(self._columns["ids"]))
        add["offset"](offset)

    def table(self) -> RecordKeyTable:
        """Everything added so far."""
        return RecordKeyTable(
            **{
                name: np.frombuffer(column, np.int64).astype(_TYPES.get(name, np.int64))
                for name, column in self._columns.items()
            }
        )


_number = lru_cache(maxsize=10_000)(key_number)


@lru_cache(maxsize=100_000)
def _surname_number(family_name: str) -> int:
    surname = family_key(family_name)
    return key_number("name", surname) if surname else 0


@lru_cache(maxsize=20_000)
def _venue_number(venue: str) -> int:
    return key_number("venue", title_key(venue))


_RUNS = {"name_end": "names", "own_end": "own", "id_end": "ids"}
"""Columns with the ends of a record's numbers, and the column of these numbers."""


def concatenate(tables: Sequence[RecordKeyTable]) -> RecordKeyTable:
    """One table of all records; `offset` stays that of each record's own file."""
    joined = {}
    for name in RecordKeyTable.__struct_fields__:
        pieces = [getattr(table, name) for table in tables]
        if name in _RUNS:
            lengths = [len(getattr(table, _RUNS[name])) for table in tables]
            before = np.cumsum([0, *lengths[:-1]])
            pieces = [piece + add for piece, add in zip(pieces, before, strict=True)]
        joined[name] = np.concatenate(pieces)
    return RecordKeyTable(**joined)


def map_tables(paths: Sequence[Path], folder: Path) -> tuple[RecordKeyTable, list[int]]:
    """One table of the files written by `save_table`, and the number of records of each.

    It is mapped from files in `folder`, which is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lengths: dict[str, list[int]] = {}
    for name in sorted(RecordKeyTable.__struct_fields__, key=_RUNS.__contains__):
        with (folder / name).open("wb") as stream:
            before = 0
            lengths[name] = []
            for at, path in enumerate(paths):
                with np.load(path, allow_pickle=False) as arrays:
                    piece = arrays[name]
                lengths[name].append(len(piece))
                if name in _RUNS:
                    piece = piece + before
                    before += lengths[_RUNS[name]][at]
                stream.write(piece.data)
    columns = {name: _mapped(folder / name, _TYPES.get(name, np.int64)) for name in lengths}
    return RecordKeyTable(**columns), lengths["offset"]


def _mapped(path: Path, kind: type[np.generic]) -> NDArray[Any]:
    if not path.stat().st_size:
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r")


def save_table(table: RecordKeyTable, path: Path) -> None:
    """Write the table as an .npz."""
    arrays = {name: getattr(table, name) for name in RecordKeyTable.__struct_fields__}
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


class RecordWriter:
    """Writes frames: length (4 bytes, little endian) and the MessagePack of a `Work`."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("wb")
        self._encoder = msgspec.msgpack.Encoder()
        self._offset = 0

    def write(self, work: Work) -> int:
        """Append a work; return its offset."""
        data = self._encoder.encode(work)
        self._stream.write(_LENGTH.pack(len(data)))
        self._stream.write(data)
        offset = self._offset
        self._offset += _LENGTH.size + len(data)
        return offset

    def close(self) -> None:
        self._stream.close()


class RecordFile:
    """Reads frames by offset, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self._decoder = msgspec.msgpack.Decoder(Work)
        with path.open("rb") as stream:
            size = path.stat().st_size
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else None

    def work(self, offset: int) -> Work:
        """The work with its frame at `offset`."""
        if self._map is None:
            raise IndexError(offset)
        (length,) = _LENGTH.unpack_from(self._map, offset)
        begin = offset + _LENGTH.size
        return self._decoder.decode(memoryview(self._map)[begin : begin + length])

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
