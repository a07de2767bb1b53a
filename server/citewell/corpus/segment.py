"""One opened segment: its record verified, its catalogue and columns ready."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.catalogue import Catalogue
from citewell.corpus.compact.catalogue import FOLDER, META, CompactCatalogue
from citewell.corpus.errors import library_error
from citewell.corpus.layout import (
    CATALOGUE,
    CITATIONS,
    YEARS,
    SegmentRecord,
    SegmentUse,
    SegmentView,
    dead_file,
    file_digest,
    quarantine_file,
    read_segment_record,
)
from citewell.model import Problem


class Segment:
    """A segment of an open library."""

    def __init__(self, library: Path, snapshot: str, use: SegmentUse, base: int) -> None:
        """Check sizes, headers and counts, and open; raises `LibraryError` on any mismatch."""
        self.id = use.id
        self.path = library / "segments" / use.id
        self.base = base
        self.count = use.count
        self.record: SegmentRecord = read_segment_record(self.path, use.record)
        if self.record.id != use.id or self.record.count != use.count:
            raise library_error(
                "library-corrupt", "The segment does not match the manifest.", self.path
            )
        check_sizes(self.path, self.record)
        folder = library / "snapshots" / snapshot
        self.dead = _read_rows(folder / dead_file(use.id), use.count, use.dead, use.dead_hash)
        self.quarantined = _read_rows(
            folder / quarantine_file(use.id), use.count, use.quarantined, use.quarantine_hash
        )
        """Mask of shape (count,): works with a malformed name, excluded from searches. None: no
        work."""
        self.covered: NDArray[np.bool_] | None = None
        """Mask of shape (count,): works that a library above this one has too. None: no work."""
        self.years: NDArray[np.int16]
        self.citations: NDArray[np.int32]
        self.catalogue: Catalogue | CompactCatalogue
        if f"{FOLDER}/{META}" in self.record.files:
            compact = CompactCatalogue(self.path / FOLDER, use.count)
            self.years = compact.years
            self.citations = np.broadcast_to(np.int32(-1), (use.count,))
            self.catalogue = compact
        else:
            self.years = self._column(YEARS, "<i2")
            self.citations = self._column(CITATIONS, "<i4")
            self.catalogue = Catalogue(self.path / CATALOGUE, use.count)

    def below(self, base: int, covered: NDArray[np.bool_]) -> Segment:
        """This segment below a library of `base` rows, with the works covered by that library."""
        own = copy(self)
        own.base = base
        own.covered = covered if self.covered is None else covered | self.covered
        return own

    @property
    def live_count(self) -> int:
        """Number of rows that a search can find."""
        dead = self.view().dead
        return self.count - (0 if dead is None else int(dead.sum()))

    def view(self, *, whole: bool = False) -> SegmentView:
        """The segment for a retriever; `whole`: with covered and quarantined works."""
        dead = self.dead
        for rows in () if whole else (self.covered, self.quarantined):
            if rows is not None:
                dead = rows if dead is None else dead | rows
        return SegmentView(path=self.path, base=self.base, count=self.count, dead=dead)

    def is_live(self, row: int) -> bool:
        """True unless the row (of this segment) was superseded or removed."""
        return 0 <= row < self.count and (self.dead is None or not self.dead[row])

    def is_covered(self, row: int) -> bool:
        """True for a work that a library above this one has too."""
        return self.covered is not None and bool(self.covered[row])

    def verify(self) -> list[Problem]:
        """Hash every file; return one problem for each file that was changed."""
        return verify_files(self.path, self.record)

    def _column(self, name: str, kind: str) -> NDArray[Any]:
        path = self.path / name
        column = _load(path, mapped=self.count > 0)
        if column.dtype != np.dtype(kind) or column.shape != (self.count,):
            raise library_error("library-corrupt", "A column does not fit its segment.", path)
        return column


def verify_files(folder: Path, record: SegmentRecord) -> list[Problem]:
    """Hash every file of a sealed folder; return one problem for each file that was changed."""
    problems = []
    for name, file in record.files.items():
        path = folder / name
        if file_digest(path) != file.blake2b:
            error = library_error("library-corrupt", "The file was changed.", path)
            problems.append(error.problem)
    return problems


def check_sizes(folder: Path, record: SegmentRecord) -> None:
    """Raise `LibraryError` unless every file of a sealed folder exists with its size."""
    for name, file in record.files.items():
        path = folder / name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise library_error("library-corrupt", "A file is missing.", path) from None
        except OSError as error:
            message = f"A file cannot be read: {error.strerror or error}."
            raise library_error("library-unreadable", message, path) from None
        if size != file.size:
            message = f"The file has {size} bytes instead of {file.size}."
            raise library_error("library-corrupt", message, path)


def _load(path: Path, *, mapped: bool) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except FileNotFoundError:
        raise library_error("library-corrupt", "A file is missing.", path) from None
    except (OSError, ValueError) as error:
        message = f"A file cannot be read: {error}."
        raise library_error("library-corrupt", message, path) from None
    if not isinstance(array, np.ndarray):
        raise library_error("library-corrupt", "The file is not an array.", path)
    return array


def _read_rows(path: Path, rows_of: int, listed: int, expected: str) -> NDArray[np.bool_] | None:
    """The mask of the `listed` rows in a file with this hash, shape (rows_of,); None without
    any."""
    if not listed:
        return None
    rows = _load(path, mapped=False)
    if file_digest(path) != expected:
        raise library_error("library-corrupt", "The list of papers was changed.", path)
    if rows.dtype != np.dtype("<i4") or rows.shape != (listed,):
        raise library_error("library-corrupt", "The list of papers is invalid.", path)
    mask = np.zeros(rows_of, dtype=np.bool_)
    if rows.min() < 0 or rows.max() >= rows_of:
        raise library_error("library-corrupt", "The list of papers is invalid.", path)
    mask[rows] = True
    mask.setflags(write=False)
    return mask
