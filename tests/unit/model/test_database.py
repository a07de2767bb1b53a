"""SQLite files are opened in one way, and brought up to date whoever comes first."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from citewell.model.system.database import (
    NewerDatabaseError,
    open_database,
    open_read_only,
    transaction,
    version_of,
)

FIRST = "CREATE TABLE IF NOT EXISTS a (x INTEGER); CREATE TABLE IF NOT EXISTS b (y INTEGER);"
SECOND = "ALTER TABLE a ADD COLUMN z INTEGER DEFAULT 7"


def test_a_file_gets_the_migrations_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with closing(open_database(path, (FIRST,), seconds=1)) as database:
        database.execute("INSERT INTO a VALUES (1)")
        assert version_of(database) == 1
    with closing(open_database(path, (FIRST, SECOND), seconds=1)) as database:
        assert database.execute("SELECT x, z FROM a").fetchall() == [(1, 7)]
        assert version_of(database) == 2


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with pytest.raises(sqlite3.OperationalError):
        open_database(path, (FIRST, "CREATE TABLE c (x); NONSENSE;"), seconds=1)
    with closing(open_database(path, seconds=1)) as database:
        assert version_of(database) == 1
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        assert tables == {"a", "b"}


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_database(path, (FIRST, SECOND), seconds=1).close()
    before = path.read_bytes()
    with pytest.raises(NewerDatabaseError):
        open_database(path, (FIRST,), seconds=1)
    assert path.read_bytes() == before


def test_several_may_begin_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    failures: list[BaseException] = []

    def begin() -> None:
        try:
            opened = closing(open_database(path, (FIRST, SECOND), seconds=10))
            with opened as database, transaction(database):
                database.execute("INSERT INTO a (x) VALUES (1)")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with closing(open_database(path, seconds=1)) as database:
        assert database.execute("SELECT count(*) FROM a").fetchone() == (8,)


def test_a_sealed_file_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a folder with ? and #" / "x.sqlite"
    path.parent.mkdir()
    open_database(path, (FIRST,), seconds=1).close()
    with closing(open_read_only(path)) as database:
        assert database.execute("SELECT count(*) FROM a").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError):
            database.execute("INSERT INTO a (x) VALUES (1)")
