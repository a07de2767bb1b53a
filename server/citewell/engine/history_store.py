"""Accepted and dismissed papers, stored in the user's data folder.

SQLite, because several servers of one user write at once, and because one paper or project must be
erasable without a trace in the file, on every system. It has a rollback journal, not a write-ahead
log: events are rare, and an erased one must not survive in a second file. It contains no words of a
manuscript: see `Event.asked`.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from citewell.model import CitewellError, Problem
from citewell.model.feedback import Event
from citewell.model.system.database import (
    NewerDatabaseError,
    open_database,
    transaction,
    version_of,
)
from citewell.options.folders import data_folder, make_private_file

logger = logging.getLogger(__name__)

MAX_EVENTS = 4_000
"""Maximum number of events, without the oldest: some years of writing, two megabytes, and a
fraction of a millisecond to compare a query with all of them."""
MAX_TEXT = 500
"""Maximum characters of a title, id or variant; a project's folder may have twice as many."""
MAX_QUERY_VECTOR = 4_096
"""Bytes of a query's vector."""
WRITE_SECONDS = 10.0
"""Seconds that writing an event waits for other processes. No caller blocks meanwhile."""
READ_SECONDS = 0.05
"""Seconds that a search waits for other processes: about the time to write an event to disk."""
REST_NS = 2_000_000_000
"""Nanoseconds for which a file must be unmodified before its times are trusted."""
BUSY = (-1, -1)
NAME = "history.sqlite"
_MIGRATIONS = (
    """
CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL, kind TEXT,
  work TEXT, title TEXT, key INTEGER, project TEXT, through TEXT, variant TEXT, encoder TEXT,
  asked BLOB);
CREATE TABLE IF NOT EXISTS erasures (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL);
""",
)
FORMAT = len(_MIGRATIONS)
_FIELDS = "time, kind, work, title, key, project, through, variant, encoder, asked"
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
R = TypeVar("R")


def history_path() -> Path:
    """The file, in the user's data folder."""
    return data_folder() / NAME


class HistoryStore:
    """Events, the oldest first. Safe across threads and processes.

    Nothing is created before the first event. A damaged file is renamed and reported in
    `problems`; if the file is busy or cannot be written, the event is lost.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        most: int = MAX_EVENTS,
        patience: float = READ_SECONDS,
    ) -> None:
        """`patience` is the number of seconds that a reader waits for a writer."""
        self.path = path or history_path()
        self.problems: tuple[Problem, ...] = ()
        self.most = most
        self._patience = patience
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._known: tuple[tuple[int, ...], tuple[int, int] | None] | None = None
        """The version of the file in a state of rest."""
        self._timeout = 0.0
        """Timeout in seconds of the open file's connection."""

    def add(self, events: Sequence[Event]) -> bool:
        """Store events in this order; False, with a problem, if that failed."""
        rows = [
            (
                event.time, event.kind, event.work[:MAX_TEXT], event.title[:MAX_TEXT],
                _signed(event.key), event.project[: 2 * MAX_TEXT], event.through,
                event.variant[:MAX_TEXT], event.encoder[:MAX_TEXT],
                event.asked if len(event.asked) <= MAX_QUERY_VECTOR else b"",
            )
            for event in events
        ]  # fmt: skip

        def write(database: sqlite3.Connection) -> bool:
            with transaction(database):
                marks = ",".join("?" * len(_FIELDS.split(",")))
                database.executemany(f"INSERT INTO events ({_FIELDS}) VALUES ({marks})", rows)
                database.execute(
                    "DELETE FROM events WHERE number <= (SELECT number FROM events "
                    "ORDER BY number DESC LIMIT 1 OFFSET ?)",
                    (self.most,),
                )
            return True

        return bool(self._do(write, writes=True, create=True))

    def read(self, after: int = 0) -> list[Event]:
        """The events stored after the one with this number."""

        def look(database: sqlite3.Connection) -> list[Event]:
            rows = database.execute(
                f"SELECT number, {_FIELDS} FROM events WHERE number > ? ORDER BY number", (after,)
            )
            return [event for row in rows if (event := _event(row)) is not None]

        return self._do(look) or []

    def file_version(self) -> tuple[int, int] | None:
        """Changes with every erasure (the first number) and every event (the second); None without
        a file, `BUSY` while another process writes. Takes some microseconds while the file is at
        rest, and a tenth of a millisecond otherwise."""
        now = _state(self.path)
        known = self._known
        if now is not None and known is not None and known[0] == now:
            return known[1]

        def look(database: sqlite3.Connection) -> tuple[int, int]:
            # Both come from the ends of the tables' own trees.
            found = database.execute(
                "SELECT (SELECT max(number) FROM erasures), (SELECT max(number) FROM events)"
            ).fetchone()
            return (int(found[0] or 0), int(found[1] or 0))

        file_version = self._do(look, busy=BUSY)
        self._known = None if now is None or file_version in (None, BUSY) else (now, file_version)
        return file_version

    def erase(self, *, works: Sequence[str] = (), project: str = "") -> int:
        """Erase the events of these works (by id) and of a project's folder; without either, all of
        them. Return their number. Erased data is overwritten in the file."""

        def forget(database: sqlite3.Connection) -> int:
            database.execute("PRAGMA secure_delete=ON")
            with transaction(database):
                if works or project:
                    marks = ",".join("?" * len(works))
                    where, values = f"work IN ({marks})", list(works)
                    if project:
                        where += " OR project = ?"
                        values.append(project)
                    gone = database.execute(f"DELETE FROM events WHERE {where}", values).rowcount
                else:
                    gone = database.execute("DELETE FROM events").rowcount
                database.execute("INSERT INTO erasures (time) VALUES (?)", (time.time(),))
            database.execute("VACUUM")
            return gone

        return self._do(forget, writes=True) or 0

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _do(
        self,
        work: Callable[[sqlite3.Connection], R],
        *,
        writes: bool = False,
        create: bool = False,
        busy: R | None = None,
    ) -> R | None:
        """The result of work on the file; None without a file, or with a problem; `busy` if a mere
        reader would have to wait, which is no problem."""
        seconds = WRITE_SECONDS if writes else self._patience
        with self._lock:
            for first in (True, False):
                try:
                    database = self._open(create=create, seconds=seconds)
                    if database is not None:
                        if seconds != self._timeout:
                            database.execute(f"PRAGMA busy_timeout={int(1000 * seconds)}")
                            self._timeout = seconds
                        return work(database)
                    break
                except sqlite3.DatabaseError as error:
                    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                    if not writes and code in _BUSY_CODES:
                        return busy
                    if not (code in _DAMAGE_CODES and first and self._set_aside(error)):
                        self._fail(error)
                        break
                except CitewellError as error:
                    self._close()
                    self.problems = (error.problem,)
                    break
                except OSError as error:
                    self._fail(error)
                    break
        return None

    def _open(self, *, create: bool, seconds: float) -> sqlite3.Connection | None:
        identity = _identity(self.path)
        if self._database is not None and identity == self._identity:
            return self._database
        # Not opened yet, or removed or replaced meanwhile.
        self._close()
        if create:
            make_private_file(self.path)
        elif identity is None:
            return None
        try:
            database = open_database(self.path, _MIGRATIONS if create else (), seconds=seconds)
            if not create and (version := version_of(database)) != FORMAT:
                database.close()
                if version > FORMAT:
                    raise CitewellError(_newer(self.path))
                return None  # just created by another process
        except NewerDatabaseError:
            raise CitewellError(_newer(self.path)) from None
        self._database, self._identity = database, _identity(self.path)
        self._timeout = seconds
        return database

    def _set_aside(self, error: Exception) -> bool:
        """Rename a damaged file, so that the next event creates a new one."""
        self._close()
        aside = self.path.with_name(f"{NAME}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        try:
            self.path.replace(aside)
            with suppress(OSError):
                self.path.with_name(f"{NAME}-journal").unlink()
        except OSError:
            return False
        logger.warning("The history of accepted papers was damaged: %s", error)
        self.problems = (
            Problem(
                "history-damaged",
                f"The history of accepted papers could not be read ({error}); Citewell started "
                "a new one.",
                f"The damaged file is kept as {aside.name}; delete it, or restore a backup.",
                path=str(aside),
            ),
        )
        return True

    def _fail(self, error: Exception) -> None:
        logger.warning("The history of accepted papers cannot be used: %s", error)
        self._close()
        self.problems = (
            Problem(
                "history-unusable",
                f"The history of accepted papers cannot be read or written ({error}).",
                "Check the disk and the permissions of the folder, or set `learning.enabled` "
                "to false.",
                path=str(self.path),
            ),
        )

    def _close(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = self._identity = None


def _event(row: tuple[object, ...]) -> Event | None:
    """A row as an event; None if no version of Citewell wrote it."""
    fields = dict(zip(("number", *(f.strip() for f in _FIELDS.split(","))), row, strict=True))
    try:
        found = msgspec.convert(fields, Event)
    except msgspec.ValidationError:
        return None
    return msgspec.structs.replace(found, key=found.key % 2**64)


def _signed(key: int) -> int:
    """A 64-bit hash as SQLite stores integers."""
    return key - 2**64 if key >= 2**63 else key


def _identity(path: Path) -> tuple[int, int] | None:
    """The identity of the file with this name, or None."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _state(path: Path) -> tuple[int, ...] | None:
    """A value that differs after every change of a file; None where metadata cannot guarantee that.

    Two changes within one tick of the system clock look alike, so the result is None for a file
    that was just written; and on Windows, which may update the time only when the file is closed.
    """
    if sys.platform == "win32":
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    if abs(time.time_ns() - found.st_mtime_ns) < REST_NS:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _newer(path: Path) -> Problem:
    return Problem(
        "history-newer",
        "The history of accepted papers was written by a newer Citewell; it was not changed.",
        "Update Citewell, or set `learning.enabled` to false.",
        path=str(path),
    )
