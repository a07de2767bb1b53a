"""CSL-JSON, written by Zotero, Mendeley, pandoc and DOI resolvers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citewell.model import Work
from citewell.sources.values import work_of_csl
from citewell_corpus.importers import files, json_records
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import FileImporter, text_head

_MARKS = ('"issued"', '"container-title"', '"family"')
_TYPED = re.compile(r'"type"\s*:')


class CslImporter(FileImporter):
    """CSL-JSON: an array of items, one object, objects by key, or an object on each line."""

    name = "csl-json"
    about = "CSL-JSON (.json, .jsonl), the export of Zotero and most reference managers"
    version = 3
    suffixes = (".json", ".jsonl", ".csl", ".ndjson")

    def recognise_file(self, path: Path) -> bool:
        start = text_head(path)
        return (
            start[:1] in ("[", "{")
            and _TYPED.search(start) is not None
            and any(mark in start for mark in _MARKS)
        )

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)

        def work_of(item: dict[str, Any]) -> Work | str:
            return work_of_csl(item, files.place(path), f"csl-json:{path}", day)

        found = json_records.in_document(path, ("items", "references"), "title", report)
        yield from json_records.works(found, work_of, path, report)
