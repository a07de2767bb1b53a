"""Writes and seals the catalogue and columns of a segment."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard

from citewell.corpus.catalogue import APPLICATION_ID, DDL
from citewell.corpus.keys import title_number, work_keys
from citewell.corpus.layout import (
    CATALOGUE,
    CITATIONS,
    FORMAT,
    SEGMENT,
    YEARS,
    FileRecord,
    SegmentRecord,
    digest,
    file_digest,
)
from citewell.model import Work
from citewell.model.system.database import open_database
from citewell.model.system.files import write_atomically

_LEVEL = 3
_DICTIONARY = 112_640
_SMALLEST_DICTIONARY = 4_096
_SAMPLES = 8_000
_YEAR_RANGE = range(-32768, 32768)

Row = tuple[Work, Iterable[str]]
"""A work and the sources of its records."""


class WrittenCatalogue(msgspec.Struct, frozen=True):
    """The result of `write_catalogue`."""

    count: int
    titles: int
    """Distinct titles (by `title_key`)."""
    origins: tuple[str, ...]


def write_catalogue(
    folder: Path,
    count: int,
    rows: Callable[[], Iterator[Row]],
    sample: Callable[[int], Iterable[Work]],
    progress: Callable[[int], None],
) -> WrittenCatalogue:
    """Write catalogue.sqlite, year.npy and citations.npy of `count` rows into `folder`.

    `sample(n)` returns about n works spread over the segment, to train the compression dictionary.
    Files of a killed build are overwritten.
    """
    path = folder / CATALOGUE
    path.unlink(missing_ok=True)
    # No reader opens an incomplete file, and a torn one is deleted: no journal is needed.
    pragmas = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE")
    connection = open_database(path, seconds=5.0, pragmas=pragmas)
    try:
        connection.executescript(DDL)
        connection.execute("BEGIN")
        written = _fill(connection, folder, count, rows, sample, progress=progress)
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    finally:
        connection.close()
    return written


def _fill(
    connection: sqlite3.Connection,
    folder: Path,
    count: int,
    rows: Callable[[], Iterator[Row]],
    sample: Callable[[int], Iterable[Work]],
    *,
    progress: Callable[[int], None],
) -> WrittenCatalogue:
    encoder = msgspec.msgpack.Encoder()
    dictionary = _train(encoder.encode(work) for work in sample(_SAMPLES))
    shared = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    compressor = zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=shared, write_checksum=True, write_content_size=True
    )
    years = np.zeros(count, "<i2")
    citations = np.full(count, -1, "<i4")
    numbers, owners, titles = array("q"), array("i"), array("q")
    origin_rows: dict[str, array[int]] = {}

    def blobs() -> Iterator[tuple[int, bytes]]:
        for row, (work, origins) in enumerate(rows()):
            if work.year in _YEAR_RANGE:
                years[row] = work.year
            if work.citations is not None:
                citations[row] = work.citations
            for number in work_keys(work):
                numbers.append(number)
                owners.append(row)
            titles.append(title_number(work.title) or 0)
            for origin in origins:
                origin_rows.setdefault(origin, array("i")).append(row)
            yield row, compressor.compress(encoder.encode(work))
            if row % 1000 == 999:
                progress(1000)

    connection.executemany("INSERT INTO works VALUES (?, ?)", blobs())
    progress(count % 1000)
    (written,) = connection.execute("SELECT count(*) FROM works").fetchone()
    if written != count:
        raise AssertionError(f"{written} rows written, {count} planned")
    connection.executemany("INSERT INTO keys VALUES (?, ?)", _sorted_pairs(numbers, owners))
    names = sorted(origin_rows)
    for position, name in enumerate(names):
        rows_of_source = np.unique(np.frombuffer(origin_rows[name], np.int32))
        pairs = ((position, int(row)) for row in rows_of_source)
        connection.executemany("INSERT INTO origins VALUES (?, ?)", pairs)
    connection.execute("CREATE INDEX origins_by_row ON origins (row)")
    meta = {"dictionary": dictionary, "sources": msgspec.json.encode(names)}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    for name, column in ((YEARS, years), (CITATIONS, citations)):
        with (folder / name).open("wb") as stream:
            np.save(stream, column, allow_pickle=False)
    distinct = len(np.unique(np.frombuffer(titles, np.int64))) if count else 0
    return WrittenCatalogue(count=count, titles=distinct, origins=tuple(names))


def _sorted_pairs(numbers: array[int], owners: array[int]) -> Iterator[tuple[int, int]]:
    """Pairs in key order, so that the B-tree is written sequentially."""
    keys = np.frombuffer(numbers, np.int64)
    rows = np.frombuffer(owners, np.int32)
    order = np.lexsort((rows, keys))
    for start in range(0, len(order), 100_000):
        part = order[start : start + 100_000]
        yield from zip(keys[part].tolist(), rows[part].tolist(), strict=True)


def _train(samples: Iterable[bytes]) -> bytes:
    blobs: list[bytes | bytearray | memoryview] = list(samples)
    size = min(_DICTIONARY, sum(map(len, blobs)) // 100)
    if size < _SMALLEST_DICTIONARY:
        return b""
    try:
        return zstandard.train_dictionary(size, blobs).as_bytes()
    except zstandard.ZstdError:
        # Too uniform or too few samples to learn from: the works are compressed one by one.
        return b""


def seal(folder: Path, segment: str, count: int, origins: tuple[str, ...],
         indexes: Mapping[str, Mapping[str, Any]]) -> str:  # fmt: skip
    """Write segment.json with the hashes of all files, flushed to disk; return its own hash."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SEGMENT:
            flush(path)
            name = path.relative_to(folder).as_posix()
            files[name] = FileRecord(size=path.stat().st_size, blake2b=file_digest(path))
    record = SegmentRecord(
        id=segment,
        count=count,
        indexes={name: dict(facts) for name, facts in indexes.items()},
        origins=origins,
        files=files,
    )
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    write_whole(folder / SEGMENT, data)
    return digest(data)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file's content atomically and durably."""
    write_atomically(path, data)
    flush_folder(path.parent)


def flush(path: Path) -> None:
    """Flush a file's content to disk."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def flush_folder(folder: Path) -> None:
    """Flush a directory to disk; Windows does so itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        # Some file systems cannot sync directories.
        pass
    finally:
        os.close(handle)
