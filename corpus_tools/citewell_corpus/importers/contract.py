"""The interface of an importer, and the report that it fills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from citewell.model import Problem, Work
from citewell_corpus.pdf_reading import PdfReading

MAX_CITED = 500
"""Maximum references read per paper; a survey has some hundreds."""
LISTED = 20
"""Maximum bad records listed per source; others are only counted."""


class CitedWork(msgspec.Struct, frozen=True, array_like=True):
    """A cited work, by its title or by the id of its record."""

    title: str = ""
    id: str = ""


class PaperCitations(msgspec.Struct, frozen=True, array_like=True):
    """The citations of one paper, with their sentences if known."""

    title: str
    cited: tuple[CitedWork, ...]
    abstract: str = ""
    passages: tuple[tuple[int, str], ...] = ()
    """An index into `cited` and the citing sentence with the citation as `[CITATION]`."""


class PaperText(msgspec.Struct, frozen=True, array_like=True):
    """The text of a paper in passages, each with its page."""

    title: str
    passages: tuple[tuple[int, str], ...]
    """1-based page, and some sentences."""


class ImportReport:
    """Counts the records of a source. Bad records are never fatal: they are counted, and a few are
    listed."""

    def __init__(
        self,
        listed: int = LISTED,
        on_bytes: Callable[[int], None] | None = None,
        on_citing: Callable[[PaperCitations], None] | None = None,
        on_text: Callable[[PaperText], None] | None = None,
        pdf: PdfReading | None = None,
    ) -> None:
        """`pdf` reads PDFs and identifies their papers; without it an importer has its own."""
        self.records = 0
        """Works read."""
        self.bad = 0
        self.skipped: Counter[str] = Counter()
        """Reason -> number of records skipped on purpose, such as proceedings volumes."""
        self.problems: list[Problem] = []
        self._listed = listed
        self._on_bytes = on_bytes
        self._on_citing = on_citing
        self._on_text = on_text
        self.pdf = pdf

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

    def good(self, path: Path, line: int | None, found: Work | str) -> Iterator[Work]:
        """The work that a record holds, counted; none for the reason why it cannot be used, which
        counts as a bad record."""
        if isinstance(found, str):
            self.bad_record(path, line, found)
        else:
            self.records += 1
            yield found

    def bad_file(self, problem: Problem) -> None:
        """Count a whole file that cannot be used, in a folder of many."""
        self.bad += 1
        if len(self.problems) < self._listed:
            self.problems.append(problem)

    def skip(self, reason: str) -> None:
        """Count a valid record that is not a paper."""
        self.skipped[reason] += 1

    def cites(self, citing: PaperCitations) -> None:
        """Add the citations of a paper."""
        if self._on_citing is not None:
            self._on_citing(citing)

    def full_text(self, text: PaperText) -> None:
        """Hand on the text of a paper."""
        if self._on_text is not None:
            self._on_text(text)

    def note(self, problem: Problem) -> None:
        """Report something that cost no record."""
        if len(self.problems) < self._listed:
            self.problems.append(problem)

    def read_bytes(self, count: int) -> None:
        """Report that `count` more bytes were read."""
        if self._on_bytes is not None:
            self._on_bytes(count)


class Importer(Protocol):
    """Reads one format as a stream: it keeps one record, or one small file, in memory."""

    name: str
    """The name for `--format`."""
    about: str
    """A short description."""
    version: int
    """Incremented when the importer reads the same bytes differently, so libraries reread them."""

    def recognise(self, path: Path) -> bool:
        """True if the file or folder looks like this format; reads a few kilobytes at most."""
        ...

    def files(self, folder: Path) -> list[Path]:
        """The files that `read` reads in a folder, sorted."""
        ...

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of a file or folder, in file order. Raises `LibraryError` if a file cannot be
        read at all; other faults go into the report."""
        ...
