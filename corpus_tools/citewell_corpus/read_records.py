"""Reads the records of one file, folder or manuscript into a folder of the staging area."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from citewell.model import Problem
from citewell.sources.malformed_names import is_malformed
from citewell_corpus.citing_stage import CitingWriter
from citewell_corpus.importers.contract import Importer, ImportReport
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.sources import FileSource
from citewell_corpus.staging import KeyCollector, RecordWriter, save_table

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
    """Papers with a list of references."""
    passages: int = 0
    texts: int = 0
    """Papers of which it gave the full text."""
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
    """Read what is at `path` into the empty `folder`; the counts, for the source `name`.

    The filters are those of `source`; `on_bytes(n)` reports n more bytes read. Raises
    `LibraryError` if nothing of it can be read.
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
