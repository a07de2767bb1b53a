"""The first stage of a build: reads each source once into staged records."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_problem
from citewell_corpus import sources
from citewell_corpus.file_pool import read_files
from citewell_corpus.importers.contract import LISTED
from citewell_corpus.importers.manuscript import ManuscriptImporter
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.progress import Progress
from citewell_corpus.read_records import KEYS, RECORDS, ImportedSource, read_records
from citewell_corpus.segment_writer import write_whole

_DONE = "staged.json"
_COUNTS = ("records", "bad", "malformed", "lists", "passages", "texts")


class StagedSource(msgspec.Struct, frozen=True):
    """A source with records to merge."""

    folder: Path
    parts: tuple[Path, ...]
    """The folders with its records: one a file of a pattern, else `folder` itself."""
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
    """The counts of all files of a source, with as many problems as of one file."""
    totals = {field: sum(getattr(part, field) for part in parts) for field in _COUNTS}
    skipped: Counter[str] = Counter()
    for part in parts:
        skipped.update(part.skipped)
    problems = tuple(problem for part in parts for problem in part.problems)[:LISTED]
    return ImportedSource(name, skipped=dict(skipped), problems=problems, **totals)
