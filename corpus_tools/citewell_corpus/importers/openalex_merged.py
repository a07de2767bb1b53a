"""The works that OpenAlex merged into others: `merged_ids/works` of its snapshot.

https://docs.openalex.org/download-all-data/snapshot-data-format
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from citewell.model import Provenance, Work
from citewell.sources.openalex_work import DELETED_WORK
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.folder import FileImporter

_ID = re.compile(r"(?:https?://openalex\.org/)?(W[0-9]{1,15})", re.ASCII)
_COLUMNS = ("id", "merge_into_id")


class MergedIdsImporter(FileImporter):
    """Rows of an identifier and the one that replaces it.

    Each becomes a record without a title, which says only that both identifiers name one work: the
    merge joins what the library holds of either, and makes no work of it alone. A work that was
    merged into the record for deleted works is withdrawn (`staging.withdraws`).
    """

    name = "openalex-merged"
    about = "OpenAlex works that were merged into others or deleted (merged_ids/works, .csv.gz)"
    suffixes = (".csv",)

    def recognise_file(self, path: Path) -> bool:
        if files.bare_suffix(path) not in self.suffixes:
            return False
        names = _names(files.first_line(path, 1 << 12))
        return all(column in names for column in _COLUMNS)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        places: list[int] = []
        for number, line in files.lines(path, report):
            if not places:
                names = _names(line)
                places = [names.index(column) for column in _COLUMNS]
                continue
            cells = line.decode("utf-8", "replace").strip().split(",")
            ids = [
                _ID.fullmatch(cells[at].strip('"')) if at < len(cells) else None for at in places
            ]
            if None in ids:
                report.bad_record(path, number, "The row names no two works of OpenAlex.")
                continue
            old, new = (found[1] for found in ids if found is not None)
            report.records += 1
            if new == DELETED_WORK:
                origin = Provenance(source="openalex", source_id=old)
                yield Work(id=f"openalex:{old}", title="", provenance=(origin,))
            else:
                yield Work(id=f"openalex:{new}", title="", same_as=(f"openalex:{old}",))


def _names(line: bytes) -> list[str]:
    """The names of the columns in the first line."""
    cells = next(csv.reader([line.decode("utf-8-sig", "replace")]), [])
    return [cell.strip().lower() for cell in cells]
