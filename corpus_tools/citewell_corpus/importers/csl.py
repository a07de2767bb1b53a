"""CSL-JSON, written by Zotero, Mendeley, pandoc and DOI resolvers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citewell.model import Work
from citewell.sources.csl_work import work_of_csl
from citewell_corpus.importers import fields, json_records
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import head
from citewell_corpus.importers.folder import FileImporter


class CslImporter(FileImporter):
    """A CSL-JSON array of items."""

    name = "csl-json"
    about = "CSL-JSON (.json), the export of Zotero and most reference managers"
    version = 2
    suffixes = (".json",)

    def recognise_file(self, path: Path) -> bool:
        start = head(path, 4096)
        return start.startswith(b"[") and b'"type"' in start and (
            b'"issued"' in start or b'"container-title"' in start or b'"family"' in start
        )  # fmt: skip

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = fields.retrieved(path)

        def work_of(item: dict[str, Any]) -> Work | str:
            return work_of_csl(item, fields.place(path), f"csl-json:{path}", day)

        found = json_records.in_array(path, "items", report)
        yield from json_records.works(found, work_of, path, report)
