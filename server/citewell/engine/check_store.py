"""Results of checks, stored on disk, so that a reopened bibliography is known at once.

A result applies to the entry's content, the snapshot of the library, the rules of the check and the
year: when one of them changes, the entry is checked again.
"""

from __future__ import annotations

import datetime
import logging
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from citewell import __version__
from citewell.engine.which_library import snapshot_of
from citewell.model import CitewellError
from citewell.model.check import Check
from citewell.model.system.database import NewerDatabaseError, open_database, transaction
from citewell.options import Options
from citewell.options.folders import cache_folder, make_private, make_private_file

logger = logging.getLogger(__name__)

MAX_BYTES = 512 * 1024 * 1024
"""A larger file is discarded and recreated; this is enough for about half a million answers."""
WORLDS = 4
"""Number of snapshots with stored results, the latest used ones."""
BUSY_SECONDS = 2.0
_MIGRATIONS = (
    """
CREATE TABLE IF NOT EXISTS checks (world BLOB, digest BLOB, value BLOB,
  PRIMARY KEY (world, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS worlds (world BLOB PRIMARY KEY, used INTEGER) WITHOUT ROWID;
""",
)
_DECODER = msgspec.msgpack.Decoder(Check)


def world_of(options: Options) -> bytes | None:
    """A key for everything that a result depends on except the entry; None without a library."""
    try:
        snapshot = snapshot_of(options)
    except (CitewellError, OSError):
        return None
    return world_named(snapshot)


def world_named(snapshot: str) -> bytes:
    """The world of a snapshot, given its id."""
    year = datetime.datetime.now(datetime.UTC).year
    return blake2b(f"{snapshot} {year} {_rules()}".encode(), digest_size=16).digest()


@cache
def _rules() -> str:
    """A hash of the rules of the check, since an update may change the verdict."""
    digest = blake2b(__version__.encode(), digest_size=16)
    package = Path(__file__).resolve().parents[1]
    for folder in ("verification", "model"):
        for path in sorted((package / folder).glob("*.py")):
            with suppress(OSError):
                digest.update(path.read_bytes())
    return digest.hexdigest()


class CheckStore:
    """Results by world and digest. Safe across threads and processes; never raises: an unusable
    cache is treated as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or cache_folder() / "checks.sqlite"
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._broken = False
        self._used: set[bytes] = set()

    def get(self, world: bytes, digests: Sequence[bytes]) -> dict[bytes, Check]:
        """The known results for some digests."""
        found: dict[bytes, Check] = {}
        with self._lock:
            database = self._open()
            if database is None:
                return found
            try:
                self._use(database, world)
                for start in range(0, len(digests), 500):
                    part = digests[start : start + 500]
                    marks = ",".join("?" * len(part))
                    rows = database.execute(
                        f"SELECT digest, value FROM checks WHERE world = ? AND digest IN ({marks})",
                        (world, *part),
                    )
                    for digest, value in rows:
                        with suppress(msgspec.MsgspecError):
                            found[digest] = _DECODER.decode(value)
            except sqlite3.Error as error:
                self._give_up(error)
        return found

    def put(self, world: bytes, answers: Iterable[tuple[bytes, Check]]) -> None:
        """Store results."""
        rows = [(world, digest, msgspec.msgpack.encode(check)) for digest, check in answers]
        with self._lock:
            database = self._open()
            if database is None:
                return
            try:
                self._use(database, world)
                with transaction(database):
                    database.executemany("INSERT OR REPLACE INTO checks VALUES (?, ?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _open(self) -> sqlite3.Connection | None:
        if self._database is None and not self._broken:
            try:
                self._database = self._connect()
            except (sqlite3.OperationalError, NewerDatabaseError) as error:
                self._give_up(error)  # in use, or a full disk: temporary
            except sqlite3.DatabaseError as error:
                # A damaged cache is no loss.
                logger.warning("The cache of checks is rebuilt: %s", error)
                self._remove()
                try:
                    self._database = self._connect()
                except (sqlite3.Error, OSError) as again:
                    self._give_up(again)
            except OSError as error:
                self._give_up(error)
        return self._database

    def _connect(self) -> sqlite3.Connection:
        make_private(self._path.parent)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._remove()
        return open_database(
            make_private_file(self._path),
            _MIGRATIONS,
            seconds=BUSY_SECONDS,
            pragmas=("journal_mode = WAL", "synchronous = NORMAL"),
        )

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink()

    def _use(self, database: sqlite3.Connection, world: bytes) -> None:
        """Record that a world is in use, and remove those unused for longest."""
        if world in self._used:
            return
        self._used.add(world)
        with transaction(database):
            database.execute(
                "INSERT OR REPLACE INTO worlds VALUES "
                "(?, (SELECT coalesce(max(used), 0) + 1 FROM worlds))",
                (world,),
            )
            database.execute(
                "DELETE FROM worlds WHERE world NOT IN "
                "(SELECT world FROM worlds ORDER BY used DESC LIMIT ?)",
                (WORLDS,),
            )
            database.execute("DELETE FROM checks WHERE world NOT IN (SELECT world FROM worlds)")

    def _give_up(self, error: Exception) -> None:
        logger.warning("Checks are not kept on disk: %s", error)
        self._broken = True
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None
