"""The records that an increment of Semantic Scholar's data sets deletes (`delete_files`).

https://api.semanticscholar.org/api-docs/datasets
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citewell.model import Provenance, Work
from citewell_corpus.importers import json_records
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.folder import FileImporter
from citewell_corpus.importers.semantic_scholar import SOURCE, identity_of

_NAMES = frozenset({"corpusid", "paperid"})


class DeletedPapersImporter(FileImporter):
    """One record per line, of which only the identifier counts.

    Each becomes a record without a title and with one identifier, which withdraws what earlier
    files say under it (`staging.withdraws`).
    """

    name = "s2-deletes"
    about = "Semantic Scholar papers that were deleted (delete_files, JSON Lines)"
    suffixes = (".jsonl", ".json", ".ndjson", "")

    def recognise_file(self, path: Path) -> bool:
        # Other data sets have identifiers and no titles, too: nothing is deleted by a guess.
        names = {name.lower() for name in json_records.first_object(path)}
        return bool(names) and names <= _NAMES

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        for number, record in json_records.in_lines(path, json_records.Object, report):
            identity = identity_of({name.lower(): value for name, value in record.items()})
            if not identity:
                report.bad_record(path, number, "The record has neither paperId nor corpusId.")
                continue
            report.records += 1
            origin = Provenance(source=SOURCE, source_id=identity)
            yield Work(id=f"s2:{identity}", title="", provenance=(origin,))
