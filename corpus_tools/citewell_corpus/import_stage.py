"""The first stage of a build: reads each source once into staged records."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_problem
from citewell.model import Problem
from citewell.sources.malformed import is_malformed
from citewell_corpus import sources
from citewell_corpus.citing_stage import CitingWriter
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.manuscript import ManuscriptImporter
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.progress import Progress
from citewell_corpus.segment_writer import write_whole
from citewell_corpus.staging import (
    KeyCollector,
    KeyTable,
    RecordFile,
    RecordWriter,
    load_table,
    save_table,
)

_DONE = "done.json"
_RECORDS = "records.bin"
_KEYS = "keys.npz"


class ImportedSource(msgspec.Struct, frozen=True):
    """Counts of one source; the marker of the finished stage."""

    name: str
    records: int
    bad: int
    skipped: dict[str, int]
    malformed: int = 0
    """Records with a damaged author list."""
    lists: int = 0
    """Papers with a list of references."""
    passages: int = 0
    texts: int = 0
    """Papers of which it gave the full text."""
    problems: tuple[Problem, ...] = ()


class StagedSource(msgspec.Struct, frozen=True):
    """A source with records to merge."""

    folder: Path
    imported: ImportedSource

    def table(self) -> KeyTable:
        """Numbers for merging, one row per record."""
        return load_table(self.folder / _KEYS)

    def records(self) -> RecordFile:
        """The works, by offset."""
        return RecordFile(self.folder / _RECORDS)


def stage_source(
    folder: Path,
    name: str,
    source: sources.Source,
    progress: Progress,
    pdf: PdfReading | None = None,
) -> StagedSource:
    """Read a source into `folder`, unless that was finished before.

    A partly read source is read again from the start: reading is the cheap part of a build.
    """
    done = folder / _DONE
    if done.is_file():
        return StagedSource(folder, msgspec.json.decode(done.read_bytes(), type=ImportedSource))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    importer, path = sources.location(source)
    progress.stage(f"Read {path.name}", sources.size(importer, path))
    citing = CitingWriter(folder)
    report = ImportReport(
        on_bytes=progress.advance, on_citing=citing.cites, on_text=citing.text, pdf=pdf
    )
    collector = KeyCollector()
    writer = RecordWriter(folder / _RECORDS)
    malformed = 0
    with closing(citing), closing(writer):
        for work in importer.read(path, report):
            if reason := source.leaves_out(work):
                report.skip(reason)
                continue
            collector.add(work, writer.write(work))
            citing.work(work)
            malformed += is_malformed(work.authors)
    table = collector.table()
    save_table(table, folder / _KEYS)
    problems = tuple(report.problems)
    if not len(table) and not citing.lists:
        message = "The source contains no papers."
        if importer.name == ManuscriptImporter.name:
            message = "No citation in it has an entry in a .bib."
        problems += (library_problem("source-empty", message, path),)
    imported = ImportedSource(
        name=name,
        records=len(table),
        bad=report.bad,
        skipped=dict(report.skipped),
        malformed=malformed,
        lists=citing.lists,
        passages=citing.passages,
        texts=citing.texts,
        problems=problems,
    )
    write_whole(done, msgspec.json.encode(imported))
    return StagedSource(folder, imported)
