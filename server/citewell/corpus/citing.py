"""The citation data of a source in a library: its own priors, mapped from disk; words of full
texts; and the graph of citations.

The arrays are those of `Priors`, one file each, in a folder that is sealed like a segment and
removed with its source. Papers are identified by their title keys, so that the data serves every
record of a paper, from any source.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.errors import library_error
from citewell.corpus.layout import CitingUse, SegmentRecord, read_segment_record
from citewell.corpus.priors import Priors, check, joined
from citewell.corpus.segment import check_sizes, verify_files
from citewell.model import Problem, Work
from citewell.model.query import Direction
from citewell.model.system.database import open_read_only

# The full text of a source's papers in a library: passages with their page.

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


NAME = "citing"
WORDS = "words.npz"
"""The words around citations, if it has passages (`retrieval.passages`)."""
_HEADER = 128
"""Bytes of an .npy file without any element."""
ARRAYS = tuple(name for name in Priors.__struct_fields__ if name != "encoder")


class CitingPart:
    """The citation data of one source of an open library."""

    def __init__(self, library: Path, use: CitingUse) -> None:
        """Check its record and the sizes of its files; raises `LibraryError` on any mismatch."""
        self.use = use
        self.path = library / "segments" / use.id
        self.record: SegmentRecord = read_segment_record(self.path, use.record)
        if self.record.id != use.id or NAME not in self.record.indexes:
            raise library_error(
                "library-corrupt", "The folder does not match the manifest.", self.path
            )
        check_sizes(self.path, self.record)

    def priors(self) -> Priors:
        """The arrays, mapped. Raises `LibraryError` when they do not belong together."""
        try:
            arrays = {name: _array(self.path / f"{name}.npy") for name in ARRAYS}
            priors = Priors(**arrays, encoder=self.use.encoder)
            check(priors)
        except (OSError, ValueError, IndexError) as error:
            message = f"Its citation data cannot be read: {error}."
            raise library_error("library-corrupt", message, self.path) from None
        return priors

    def full_text(self) -> FullText:
        """The passages of its papers, if `use.texts` is not 0. Raises `LibraryError`."""
        return FullText(self.path / FOLDER)

    def verify(self) -> list[Problem]:
        """Hash every file; return the problems found."""
        return verify_files(self.path, self.record)


def _array(path: Path) -> NDArray[Any]:
    """The mapped array; an empty one cannot be mapped and is read."""
    array = np.load(path, mmap_mode="r" if path.stat().st_size > _HEADER else None,
                    allow_pickle=False)  # fmt: skip
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path.name} is no array")
    return array


def write_part(priors: Priors, folder: Path) -> None:
    """Write each array as one .npy file."""
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(priors, name), allow_pickle=False)


# The citations between papers of a library, as far as the citation priors record them.


class GraphNeighbours(NamedTuple):
    """A paper's neighbours in the graph, the most cited first."""

    rows: NDArray[np.int64]
    """Rows of the library."""
    together: NDArray[np.int64]
    """For `cocited`, the number of papers that cite both; else 1. Shape as `rows`."""
    elsewhere: int
    """Number of further neighbours missing from the library."""
    known: bool
    """False when nothing is known of this paper, which differs from having no neighbours."""


_UNKNOWN = GraphNeighbours(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, False)


class CitationGraph:
    """The citation graph. Immutable and thread-safe; holds no text and no vectors."""

    def __init__(
        self, parts: Sequence[Priors], columns: LibraryColumns, live: NDArray[np.bool_]
    ) -> None:
        """`live` is a mask of the live rows, shape (columns.end,)."""
        self._priors = joined([_lists(part) for part in parts]) if parts else None
        keys = columns.keys()
        # Of several rows with one title, the one with an abstract represents them.
        order = np.lexsort((~columns.abstracts(), keys))
        order = order[live[order] & (keys[order] != 0)]
        kept, first = np.unique(keys[order], return_index=True)
        self._keys, self._rows = kept, order[first]
        if self._priors is not None:
            self._list_order = np.argsort(self._priors.list_key, kind="stable")
            self._list_keys = self._priors.list_key[self._list_order]
            lengths = np.diff(self._priors.list_starts)
            self._owner = np.repeat(np.arange(len(lengths)), lengths)
            self._degree = np.bincount(self._priors.list_cited, minlength=len(self._priors))

    def neighbours(self, key: int, direction: Direction) -> GraphNeighbours:
        """The neighbours of the paper with this title key (`columns.title_key`)."""
        priors = self._priors
        if priors is None or not key:
            return _UNKNOWN
        if direction == "cites":
            found = self._list_of(key)
            return _UNKNOWN if found is None else self._held(priors.key[found])
        number = int(priors.find(np.array([key], np.uint64))[0])
        lists = distinct(self._owner[priors.list_cited == number])
        if not len(lists):
            return _UNKNOWN
        if direction == "cited_by":
            return self._held(priors.list_key[lists])
        starts = priors.list_starts
        beside = np.concatenate(
            [distinct(priors.list_cited[starts[one] : starts[one + 1]]) for one in lists]
        )
        numbers, counts = np.unique(beside[beside != number], return_counts=True)
        return self._held(priors.key[numbers], counts)

    def citations(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the citing and of the cited paper of each known citation, each once; -1 for a
        paper missing from the library."""
        if self._priors is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        citing = self._rows_of(self._priors.list_key[self._owner])
        cited = self._rows_of(self._priors.key)[self._priors.list_cited]
        base = int(max(cited.max(initial=0), citing.max(initial=0))) + 2
        held = citing >= 0
        citing, cited = np.divmod(distinct(citing[held] * base + cited[held] + 1), base)
        return citing, cited - 1

    def _rows_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._rows[at], -1)

    def _list_of(self, key: int) -> NDArray[np.int32] | None:
        """Numbers of the papers that this one cites; None if its list is unknown."""
        assert self._priors is not None
        at = int(np.searchsorted(self._list_keys, np.uint64(key)))
        if at == len(self._list_keys) or self._list_keys[at] != np.uint64(key):
            return None
        one, starts = self._list_order[at], self._priors.list_starts
        return distinct(self._priors.list_cited[starts[one] : starts[one + 1]])

    def _held(
        self, keys: NDArray[np.uint64], together: NDArray[np.int64] | None = None
    ) -> GraphNeighbours:
        """The neighbours in the library: by co-citations, then by citations."""
        assert self._priors is not None
        if together is None:
            together = np.ones(len(keys), np.int64)
        if not len(self._keys):
            return GraphNeighbours(*_UNKNOWN[:2], len(keys), True)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        has = self._keys[at] == keys
        rows, together = self._rows[at[has]], together[has]
        numbers = self._priors.find(keys[has])
        degree = np.where(numbers >= 0, self._degree[numbers], 0)
        order = np.lexsort((rows, -degree, -together))
        return GraphNeighbours(rows[order], together[order], int((~has).sum()), True)


def _lists(priors: Priors) -> Priors:
    """The priors without the vectors and the passages."""
    none = np.zeros(0, np.int32)
    return msgspec.structs.replace(
        priors,
        list_vectors=np.zeros((len(priors.list_key), 0), np.int8),
        passage_vectors=np.zeros((0, 0), np.int8),
        passage_cited=none,
        passage_list=none,
        encoder="",
    )
