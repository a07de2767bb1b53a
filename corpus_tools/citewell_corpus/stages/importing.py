"""The first stage of a build: reads each source once into staged records.

The files of a pattern are read several at a time. Each is read into a folder named after the
process, and renamed when complete: unfinished output of a killed build is never taken for a
finished file.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from citewell.corpus.errors import MissingPackageError, library_problem
from citewell.model import CitewellError, Problem
from citewell.sources.values import is_malformed
from citewell_corpus import sources
from citewell_corpus.importers import importer_named
from citewell_corpus.importers.contract import LISTED, Importer, ImportReport
from citewell_corpus.importers.files import opened
from citewell_corpus.importers.manuscript import ManuscriptImporter
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.processes import Progress, Report, run_tasks
from citewell_corpus.segment_writer import write_whole
from citewell_corpus.sources import FileSource
from citewell_corpus.stages.citing import CitingWriter
from citewell_corpus.stages.staging import KeyCollector, RecordWriter, save_table

RECORDS, KEYS = "records.bin", "keys.npz"


class ImportedSource(msgspec.Struct, frozen=True):
    """Counts of one source; the marker of the finished stage."""

    name: str
    records: int
    bad: int
    skipped: dict[str, int]
    malformed: int = 0
    """Records with a damaged author list."""
    lists: int = 0
    """Number of papers with a list of references."""
    passages: int = 0
    texts: int = 0
    """Number of papers with full text."""
    problems: tuple[Problem, ...] = ()


def read_records(
    folder: Path,
    name: str,
    source: FileSource,
    importer: Importer,
    path: Path,
    on_bytes: Callable[[int], None],
    pdf: PdfReading | None = None,
) -> ImportedSource:
    """Read the source at `path` into the empty `folder`; return the counts, for the source `name`.

    The filters are those of `source`; `on_bytes(n)` reports n more bytes read. Raises
    `LibraryError` if nothing can be read.
    """
    citing = CitingWriter(folder)
    report = ImportReport(on_bytes=on_bytes, on_citing=citing.cites, on_text=citing.text, pdf=pdf)
    collector = KeyCollector()
    writer = RecordWriter(folder / RECORDS)
    malformed = 0
    with closing(citing), closing(writer):
        for work in importer.read(path, report):
            if reason := source.leaves_out(work):
                report.skip(reason)
                continue
            collector.add(work, writer.write(work))
            if work.title:
                citing.work(work)
            malformed += is_malformed(work.authors)
    table = collector.table()
    save_table(table, folder / KEYS)
    return ImportedSource(
        name=name,
        records=len(table),
        bad=report.bad,
        skipped=dict(report.skipped),
        malformed=malformed,
        lists=citing.lists,
        passages=citing.passages,
        texts=citing.texts,
        problems=tuple(report.problems),
    )


_READ = "read.json"
_HEAD = 1 << 16


def read_files(
    folder: Path, name: str, source: FileSource, files: Sequence[Path], jobs: int, on_bytes: Report
) -> list[tuple[Path, ImportedSource]]:
    """The folder and the counts of each file, in order; those of an earlier run are not reread.

    Raises `LibraryError` "build-process-died" if a process ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / f"part-{number:06d}" for number in range(len(files))]
    for left in folder.glob("part-*.*"):
        shutil.rmtree(left, ignore_errors=True)
    waiting = []
    for part, file in zip(parts, files, strict=True):
        if (part / _READ).is_file():
            on_bytes(file.stat().st_size)
        else:
            waiting.append(partial(_read_file, part, name, source, file))
    if min(jobs, len(waiting)) > 1:
        run_tasks(waiting, min(jobs, len(waiting)), on_bytes)
    else:
        for task in waiting:
            task(on_bytes)
    return [
        (part, msgspec.json.decode((part / _READ).read_bytes(), type=ImportedSource))
        for part in parts
    ]


def _read_file(part: Path, name: str, source: FileSource, file: Path, on_bytes: Report) -> None:
    """Read one file into the folder `part`; a marker shows that it is complete."""
    importer = importer_named(source.format)
    own = part.with_name(f"{part.name}.{os.getpid()}")
    own.mkdir()
    try:
        if importer.recognise(file):
            done = read_records(own, name, source, importer, file, on_bytes)
        else:
            with opened(file) as stream:  # damaged, or of another format
                stream.read(_HEAD)
            done = _nothing_read(own, name)
    except MissingPackageError:
        # Marked as read, the file would remain unread once the package is installed.
        raise
    except CitewellError as error:
        # As in a folder, only the records of a broken file are lost.
        done = _nothing_read(own, name, problem=error.problem)
    write_whole(own / _READ, msgspec.json.encode(done))
    shutil.rmtree(part, ignore_errors=True)
    own.replace(part)


def _nothing_read(folder: Path, name: str, problem: Problem | None = None) -> ImportedSource:
    """The counts of a file without records; half-read ones are removed."""
    shutil.rmtree(folder)
    folder.mkdir()
    if problem is None:
        return ImportedSource(name, 0, 0, {"other files": 1})
    return ImportedSource(name, 0, 1, {}, problems=(problem,))


_DONE = "staged.json"
_COUNTS = ("records", "bad", "malformed", "lists", "passages", "texts")


class StagedSource(msgspec.Struct, frozen=True):
    """A source with records to merge."""

    folder: Path
    parts: tuple[Path, ...]
    """The folders with its records: one for each file of a pattern, else `folder` itself."""
    imported: ImportedSource

    def tables(self) -> list[Path]:
        """The files with the numbers for merging, one row per record."""
        return [part / KEYS for part in self.parts]

    def records(self) -> list[Path]:
        """The files of the works, by offset."""
        return [part / RECORDS for part in self.parts]


class _Done(msgspec.Struct, frozen=True):
    parts: tuple[str, ...]
    """Names of the folders of the files; empty for a source of one part."""
    imported: ImportedSource


def stage_source(
    folder: Path,
    name: str,
    source: sources.FileSource,
    progress: Progress,
    pdf: PdfReading | None = None,
    jobs: int = 1,
) -> StagedSource:
    """Read a source into `folder`, unless that was finished before.

    A partly read file is read again from the start: reading is the cheap part of a build. The
    files of a pattern are read by `jobs` processes.
    """
    marker = folder / _DONE
    if marker.is_file():
        done = msgspec.json.decode(marker.read_bytes(), type=_Done)
        return _staged(folder, done)
    importer, path = sources.location(source)
    progress.stage(f"Read {path.name}", sources.size(importer, path))
    if sources.is_pattern(path):
        files = sources.matching_files(path)
        read = read_files(folder, name, source, files, jobs, progress.advance)
        kept = [(part, counts) for part, counts in read if (part / KEYS).is_file()]
        done = _Done(
            tuple(part.name for part, _ in kept), _sum(name, [counts for _, counts in read])
        )
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        counts = read_records(folder, name, source, importer, path, progress.advance, pdf)
        done = _Done((), counts)
    if not done.imported.records and not done.imported.lists:
        message = "The source contains no papers."
        if importer.name == ManuscriptImporter.name:
            message = "No citation in it has an entry in a .bib."
        problem = library_problem("source-empty", message, path)
        imported = msgspec.structs.replace(
            done.imported, problems=(*done.imported.problems, problem)
        )
        done = msgspec.structs.replace(done, imported=imported)
    write_whole(marker, msgspec.json.encode(done))
    return _staged(folder, done)


def _staged(folder: Path, done: _Done) -> StagedSource:
    has_own = (folder / KEYS).is_file()
    parts = (folder,) if has_own else tuple(folder / part for part in done.parts)
    return StagedSource(folder, parts, done.imported)


def _sum(name: str, parts: Sequence[ImportedSource]) -> ImportedSource:
    """The counts of all files of a source, with at most as many problems as for one file."""
    totals = {field: sum(getattr(part, field) for part in parts) for field in _COUNTS}
    skipped: Counter[str] = Counter()
    for part in parts:
        skipped.update(part.skipped)
    problems = tuple(problem for part in parts for problem in part.problems)[:LISTED]
    return ImportedSource(name, skipped=dict(skipped), problems=problems, **totals)
