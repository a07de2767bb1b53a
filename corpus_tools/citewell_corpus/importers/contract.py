"""What an importer of a format promises, and the report that it fills while it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from citewell.model import Problem, Work

MAX_CITED = 500
"""References of one paper that are read; a survey has some hundreds."""
LISTED = 20
"""Bad records listed one by one per source; the others are only counted."""


class Cited(msgspec.Struct, frozen=True, array_like=True):
    """A work that another one cites, by its title or by the id that its own record has."""

    title: str = ""
    id: str = ""


class Citing(msgspec.Struct, frozen=True, array_like=True):
    """What one paper cites, and in which sentences where they are known."""

    title: str
    cited: tuple[Cited, ...]
    abstract: str = ""
    passages: tuple[tuple[int, str], ...] = ()
    """A place in `cited` and the sentence that cites it, the citation written `[CITATION]`."""


class ImportReport:
    """Counts what a source gave. Bad records are never fatal: they are counted, a few listed."""

    def __init__(
        self,
        listed: int = LISTED,
        on_bytes: Callable[[int], None] | None = None,
        on_citing: Callable[[Citing], None] | None = None,
    ) -> None:
        self.records = 0
        """Works handed on."""
        self.bad = 0
        self.skipped: Counter[str] = Counter()
        """Reason to number: records left out on purpose, such as proceedings volumes."""
        self.problems: list[Problem] = []
        self._listed = listed
        self._on_bytes = on_bytes
        self._on_citing = on_citing

    def bad_record(self, path: Path, line: int | None, message: str) -> None:
        """Count a record that cannot be used; `line` is 1-based."""
        self.bad += 1
        if len(self.problems) < self._listed:
            self.problems.append(
                Problem(
                    code="record-bad",
                    message=message,
                    hint="Fix the record and add the source again; the others were imported.",
                    path=str(path),
                    line=line,
                )
            )

    def bad_file(self, problem: Problem) -> None:
        """Count a whole file that cannot be used, in a folder of many."""
        self.bad += 1
        if len(self.problems) < self._listed:
            self.problems.append(problem)

    def skip(self, reason: str) -> None:
        """Count a record that is whole but is no paper."""
        self.skipped[reason] += 1

    def cites(self, citing: Citing) -> None:
        """Hand on what a paper cites."""
        if self._on_citing is not None:
            self._on_citing(citing)

    def read_bytes(self, count: int) -> None:
        """Say that `count` more bytes of the source's files were read."""
        if self._on_bytes is not None:
            self._on_bytes(count)


class Importer(Protocol):
    """Reads one format. Streams: holds one record, or one small file, at a time."""

    name: str
    """What `--format` takes."""
    about: str
    """What it reads, in a few words."""
    version: int
    """Raised when the importer comes to read the same bytes otherwise: libraries then renew."""

    def recognise(self, path: Path) -> bool:
        """True if the file or folder looks like this format; reads a few kilobytes at most."""
        ...

    def files(self, folder: Path) -> list[Path]:
        """The files that `read` would read in a folder, sorted."""
        ...

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of a file or folder, in file order. Raises `LibraryError` for a file that
        cannot be read at all; every lesser fault goes into the report."""
        ...
