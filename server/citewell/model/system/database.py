"""SQLite files: opened in one way, and updated by migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote


class NewerDatabaseError(Exception):
    """The file was written by a newer version of Citewell, and was not changed."""


def open_database(
    path: Path, migrations: Sequence[str] = (), *, seconds: float, pragmas: Sequence[str] = ()
) -> sqlite3.Connection:
    """Open a connection for any thread, in autocommit mode.

    The file is created if needed and migrated: `user_version` counts the migrations. A reader or
    writer waits up to `seconds` for others. Raises `sqlite3.Error`, `NewerDatabaseError`.
    """
    database = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        for pragma in pragmas:
            database.execute(f"PRAGMA {pragma}")
        version = version_of(database)
        if migrations and version > len(migrations):
            raise NewerDatabaseError(f"{path} has format {version}")
        for number, migration in enumerate(migrations[version:], version + 1):
            with transaction(database):
                if version_of(database) < number:  # another process may have been quicker
                    for statement in filter(str.strip, migration.split(";")):
                        database.execute(statement)
                    database.execute(f"PRAGMA user_version = {number}")
    except BaseException:
        database.close()
        raise
    return database


def open_read_only(path: Path, *, cached_statements: int = 128) -> sqlite3.Connection:
    """Open a file without writers, for any thread. Raises `sqlite3.Error`."""
    uri = f"file:{quote(path.absolute().as_posix())}?mode=ro&immutable=1"
    return sqlite3.connect(
        uri, uri=True, check_same_thread=False, cached_statements=cached_statements
    )


def version_of(database: sqlite3.Connection) -> int:
    """Number of migrations that the file has had."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock at the start: a later request for it may be refused without waiting."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
