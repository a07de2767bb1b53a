"""The works of one segment, in an immutable SQLite file.

Table `works(row, blob)`: a MessagePack `Work`, compressed with Zstandard and a dictionary trained
on the segment (a third of the size, and no slower to fetch 50 of). Table `keys(number, row)`: see
`keys`. Table `origins(source, row)`: which added sources a row's records came from. Table `meta`.
The file is opened `immutable`, so that no process takes a lock, and memory-mapped, so that all
processes share its pages.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
import zstandard

from citewell.corpus.errors import library_error
from citewell.corpus.layout import FORMAT
from citewell.model import Work
from citewell.model.system.database import open_read_only

APPLICATION_ID = 0x43495445
"""`CITE`, in the header of the SQLite file."""

Record = TypeVar("Record")
"""A struct with a subset of the fields of `Work`, or `Work` itself."""


class _TitleRecord(msgspec.Struct, frozen=True):
    """A record decoded for its title alone."""

    title: str


_MAX_WORK = 16 << 20
_BATCH = 500

DDL = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE works (row INTEGER PRIMARY KEY, blob BLOB NOT NULL);
CREATE TABLE keys (number INTEGER, row INTEGER, PRIMARY KEY (number, row)) WITHOUT ROWID;
CREATE TABLE origins (source INTEGER, row INTEGER, PRIMARY KEY (source, row)) WITHOUT ROWID;
"""


class _CatalogueReader:
    """A connection with its decoders: used by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, dictionary: bytes) -> None:
        self.connection = connection
        shared = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._zstd = zstandard.ZstdDecompressor(dict_data=shared)
        self._decoder = msgspec.msgpack.Decoder(Work)

    def decode(self, blob: bytes) -> Work:
        return self._decoder.decode(self.unpack(blob))

    def unpack(self, blob: bytes) -> bytes:
        if zstandard.frame_content_size(blob) > _MAX_WORK:
            raise zstandard.ZstdError("a record is too large")
        return self._zstd.decompress(blob, max_output_size=_MAX_WORK)


class Catalogue:
    """Reads one segment's works. Thread-safe."""

    def __init__(self, path: Path, count: int) -> None:
        """Open `catalogue.sqlite`; raises `LibraryError` if it is not a complete catalogue."""
        self.path = path
        self.count = count
        self._idle: list[_CatalogueReader] = []
        self._lock = threading.Lock()
        self._closed = False
        self._dictionary = b""
        try:
            connection = self._connect()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID or version != FORMAT:
                raise library_error("library-foreign", "This is not a catalogue of papers.", path)
            (last,) = connection.execute("SELECT max(row) FROM works").fetchone()
            if (-1 if last is None else last) != count - 1:
                raise library_error("library-corrupt", "The catalogue lacks works.", path)
            self._dictionary = _meta(connection, "dictionary")
        except (sqlite3.Error, ValueError) as error:
            message = f"The catalogue cannot be read: {error}."
            raise library_error("library-corrupt", message, path) from None
        self._idle.append(_CatalogueReader(connection, self._dictionary))

    def works(self, rows: Iterable[int]) -> dict[int, Work]:
        """The works in these rows; missing rows are left out."""
        return self.records(rows, Work)

    def records(self, rows: Iterable[int], kind: type[Record]) -> dict[int, Record]:
        """The records in these rows, by row, decoded as `kind`, a subset of the fields of
        `Work`."""
        wanted = [int(row) for row in rows]
        found: dict[int, Record] = {}
        decoder = msgspec.msgpack.Decoder(kind)
        with self._reader() as reader:
            for start in range(0, len(wanted), _BATCH):
                part = wanted[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                sql = f"SELECT row, blob FROM works WHERE row IN ({marks})"
                for row, blob in reader.connection.execute(sql, part):
                    found[row] = decoder.decode(reader.unpack(blob))
        return found

    def titles_of(self, rows: Iterable[int]) -> dict[int, str]:
        """The titles of these rows; missing rows are left out."""
        return {row: record.title for row, record in self.records(rows, _TitleRecord).items()}

    def rows(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Rows per key number (see `keys`); numbers without a row are left out."""
        found: dict[int, list[int]] = {}
        with self._reader() as reader:
            for start in range(0, len(numbers), _BATCH):
                part = numbers[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                sql = f"SELECT number, row FROM keys WHERE number IN ({marks})"
                for number, row in reader.connection.execute(sql, part):
                    found.setdefault(number, []).append(row)
        return found

    def iterate(self) -> Iterator[tuple[int, Work]]:
        """Every row and its work, in row order."""
        row = 0
        while row < self.count:
            with self._reader() as reader:
                sql = "SELECT row, blob FROM works WHERE row >= ? ORDER BY row LIMIT ?"
                batch = [
                    (number, reader.decode(blob))
                    for number, blob in reader.connection.execute(sql, (row, _BATCH))
                ]
            if not batch:
                return
            yield from batch
            row = batch[-1][0] + 1

    def origins(self, sources: Sequence[str]) -> dict[str, list[int]]:
        """The rows with a record from each of these sources."""
        found: dict[str, list[int]] = {}
        with self._reader() as reader:
            names = dict(self._source_numbers(reader))
            for source in sources:
                if source in names:
                    sql = "SELECT row FROM origins WHERE source = ? ORDER BY row"
                    rows = reader.connection.execute(sql, (names[source],))
                    found[source] = [row for (row,) in rows]
        return found

    def origins_of(self, row: int) -> tuple[str, ...]:
        """Sources of the records in a row."""
        with self._reader() as reader:
            names = {number: name for name, number in self._source_numbers(reader)}
            sql = "SELECT source FROM origins WHERE row = ? ORDER BY source"
            return tuple(names[number] for (number,) in reader.connection.execute(sql, (row,)))

    def close(self) -> None:
        """Close every connection; one in use is closed when it is returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.connection.close()

    def _source_numbers(self, reader: _CatalogueReader) -> list[tuple[str, int]]:
        names = msgspec.json.decode(_meta(reader.connection, "sources") or b"[]", type=list[str])
        return [(name, number) for number, name in enumerate(names)]

    def _connect(self) -> sqlite3.Connection:
        connection = open_read_only(self.path, cached_statements=16)
        # Not mapped: the kernel would count sixteen pages to the process for each one read.
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA cache_size = -256")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    @contextmanager
    def _reader(self) -> Iterator[_CatalogueReader]:
        with self._lock:
            if self._closed:
                raise library_error("library-missing", "The library was closed.", self.path)
            reader = self._idle.pop() if self._idle else None
        try:
            if reader is None:
                reader = _CatalogueReader(self._connect(), self._dictionary)
            yield reader
        except (sqlite3.Error, zstandard.ZstdError, msgspec.DecodeError) as error:
            message = f"The catalogue is damaged: {error}."
            raise library_error("library-corrupt", message, self.path) from None
        finally:
            with self._lock:
                if reader is not None and not self._closed:
                    self._idle.append(reader)
                    reader = None
            if reader is not None:
                reader.connection.close()


def _meta(connection: sqlite3.Connection, name: str) -> bytes:
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return bytes(found[0]) if found else b""
