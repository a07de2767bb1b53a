"""The folder of `citewell library harvest`: works, and what they cite."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from citewell.model import Work
from citewell_corpus.importers import fields, json_records, records
from citewell_corpus.importers.contract import MAX_CITED, CitedWork, ImportReport, PaperCitations


class _Edges(msgspec.Struct):
    id: str
    references: list[str]


class HarvestImporter:
    """`works.jsonl` and `edges.jsonl` side by side."""

    name = "harvest"
    about = "a folder of `citewell library harvest`"
    version = 1

    def recognise(self, path: Path) -> bool:
        return len(self.files(path)) == 2

    def files(self, folder: Path) -> list[Path]:
        """Both files."""
        return [
            path for name in ("edges.jsonl", "works.jsonl") if (path := folder / name).is_file()
        ]

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        cited: dict[str, list[str]] = {}
        for _, edges in json_records.in_lines(path / "edges.jsonl", _Edges, report):
            cited[edges.id] = edges.references
        file = path / "works.jsonl"
        day, place = fields.retrieved(file), fields.place(file)
        found = json_records.in_lines(file, records.JsonRecord, report)
        for work in json_records.works(
            found, lambda one: records.work_of(one, day, place), file, report
        ):
            references = tuple(
                CitedWork(id=one) for one in islice(cited.get(work.id, ()), MAX_CITED)
            )
            if references:
                report.cites(PaperCitations(work.title, references, work.abstract))
            yield work
