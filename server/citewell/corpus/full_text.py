"""The full text of a source's papers in a library: passages with their page.

They are stored in the folder of the source's citation data (`citing`), which is sealed and removed
with the source. Papers are identified by their title keys, so that any record of a paper is found.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell.model.system.database import open_read_only

FOLDER = "text"
INDEX = "bm25"
"""Index of the words of the passages: one row each, beside `PASSAGES`."""
PASSAGES, KEYS, PAPERS = "passages.sqlite", "keys.npy", "papers.npy"
_DDL = "CREATE TABLE passages (number INTEGER PRIMARY KEY, page INTEGER, text TEXT) STRICT"


class Passage(msgspec.Struct, frozen=True):
    """A few sentences of one page."""

    page: int
    """1-based."""
    text: str


class FullText:
    """The passages of one source. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Raises `LibraryError` when the files cannot be read."""
        self.folder = folder
        try:
            self.keys: NDArray[np.uint64] = np.load(folder / KEYS, allow_pickle=False)
            """Title key of each paper."""
            self.papers: NDArray[np.int32] = np.load(folder / PAPERS, allow_pickle=False)
            """Number of the paper of each passage."""
            self._database = open_read_only(folder / PASSAGES)
        except (OSError, ValueError, sqlite3.Error) as error:
            message = f"The full text of papers cannot be read: {error}."
            raise library_error("library-corrupt", message, folder) from None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.papers)

    def passage(self, number: int) -> Passage:
        """The passage with a number. Raises `LibraryError` when it cannot be read."""
        try:
            with self._lock:
                sql = "SELECT page, text FROM passages WHERE number = ?"
                page, text = self._database.execute(sql, (number,)).fetchone()
        except (sqlite3.Error, TypeError) as error:
            message = f"The full text of papers cannot be read: {error}."
            raise library_error("library-corrupt", message, self.folder) from None
        return Passage(page, text)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def write_full_text(
    papers: Iterable[tuple[int, Iterable[Passage]]],
    folder: Path,
    build: Callable[[Callable[[], Iterable[Work]], int, Path], None],
) -> int:
    """Write the passages of papers, by title key, and their index; return their number. `build`
    writes an index of works into a folder: each passage is handed to it as an abstract."""
    folder.mkdir()
    keys: list[int] = []
    owners: list[int] = []
    database = sqlite3.connect(folder / PASSAGES)
    try:
        database.execute(_DDL)
        for paper, (key, passages) in enumerate(papers):
            keys.append(key)
            for one in passages:
                row = (len(owners), one.page, one.text)
                database.execute("INSERT INTO passages VALUES (?, ?, ?)", row)
                owners.append(paper)
        database.commit()

        def works() -> Iterable[Work]:
            reader = sqlite3.connect(folder / PASSAGES)
            try:
                sql = "SELECT number, text FROM passages ORDER BY number"
                for number, text in reader.execute(sql):
                    yield Work(id=f"passage:{number}", title="", abstract=text)
            finally:
                reader.close()

        (folder / INDEX).mkdir()
        build(works, len(owners), folder / INDEX)
    finally:
        database.close()
    np.save(folder / KEYS, np.array(keys, np.uint64), allow_pickle=False)
    np.save(folder / PAPERS, np.array(owners, np.int32), allow_pickle=False)
    return len(owners)
