"""BibTeX and biblatex files, and folders of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citewell.corpus.errors import library_error
from citewell.documents.textfile import FileError, read_text
from citewell.model import Provenance, Work
from citewell_corpus.importers import fields
from citewell_corpus.importers.bib_entry import NO_PAPER, work_of
from citewell_corpus.importers.bib_reader import bib_entries
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import head
from citewell_corpus.importers.folder import FileImporter


class BibtexImporter(FileImporter):
    """.bib files of authors; only broken entries are skipped."""

    name = "bibtex"
    about = "BibTeX or biblatex (.bib), or a folder of such files"
    version = 2
    suffixes = (".bib", ".bibtex", ".biblatex")

    def recognise_file(self, path: Path) -> bool:
        if path.suffix.lower() in self.suffixes:
            return True
        start = head(path, 200)
        return start.startswith(b"@") and b"{" in start

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        try:
            text = read_text(path).text
        except FileError as error:
            raise library_error("source-unreadable", error.problem.message, path) from None
        report.read_bytes(path.stat().st_size)
        day = fields.retrieved(path)
        place = f"bib:{fields.place(path)}"
        seen: set[str] = set()
        for line, entry in bib_entries(text, path, report):
            if entry.type in NO_PAPER:
                report.skip(entry.type)
                continue
            if not entry.key or not entry.body.closed or entry.key in seen:
                # Already reported for the file, except duplicate keys.
                if entry.key in seen:
                    report.bad_record(path, line, f'The key "{entry.key}" is used above.')
                continue
            seen.add(entry.key)
            origin = Provenance(source=f"bibtex:{path}", source_id=entry.key, retrieved=day)
            work = work_of(entry, f"{place}:{entry.key}", origin)
            if isinstance(work, str):
                report.bad_record(path, line, work)
                continue
            report.records += 1
            yield work
