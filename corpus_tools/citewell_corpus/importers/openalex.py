"""OpenAlex works in JSON Lines or Parquet, from its snapshot or API.

https://docs.openalex.org/api-entities/works/work-object
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from citewell.model import Provenance, Work
from citewell.sources import values
from citewell.sources.values import DELETED_WORK, work_of_openalex
from citewell_corpus.importers import files, json_records, parquet
from citewell_corpus.importers.contract import MAX_CITED, CitedWork, ImportReport
from citewell_corpus.importers.files import FileImporter

_FIELDS = (
    "id", "title", "display_name", "publication_year", "publication_date", "doi", "type",
    "cited_by_count", "language", "is_retracted", "is_paratext", "abstract_inverted_index.",
    "referenced_works.", "authorships.author.display_name", "authorships.raw_author_name",
    "primary_location.landing_page_url", "primary_location.url", "primary_location.source.",
    "locations.landing_page_url", "host_venue.", "biblio.", "keywords.display_name",
)  # fmt: skip
"""Parquet fields of a `Work` (`parquet.rows`): a tenth of the fields of authors and places."""
_NO_PAPER = frozenset({"paratext", "peer-review", "grant", "supplementary-materials"})


class OpenAlexImporter(FileImporter):
    """OpenAlex works in JSON Lines, plain or compressed, in Parquet, or a folder of such parts."""

    name = "openalex"
    about = "OpenAlex works (JSON Lines, .gz, Parquet, or a folder), with what they cite"
    version = 4
    suffixes = (".jsonl", ".json", ".ndjson", parquet.SUFFIX, "")

    def recognise_file(self, path: Path) -> bool:
        if parquet.is_parquet(path):
            return parquet.has_columns(path, ("authorships", "referenced_works"))
        line = files.first_line(path, 1 << 16)
        return line.startswith(b"{") and b"openalex.org/W" in line and b'"authorships"' in line

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)

        def work_of(record: dict[str, Any]) -> Work | str:
            return work_of_openalex(record, day)

        yield from json_records.works(_papers(path, report), work_of, path, report, _references)


def _papers(path: Path, report: ImportReport) -> Iterator[tuple[int, dict[str, Any]]]:
    if parquet.is_parquet(path):
        records = parquet.rows(path, _FIELDS, report)
    else:
        records = json_records.in_lines(path, json_records.Object, report)
    for number, record in records:
        if record.get("is_paratext") or record.get("type") in _NO_PAPER:
            report.skip("paratext")
        else:
            yield number, record


def _references(record: dict[str, Any]) -> tuple[CitedWork, ...]:
    found = record.get("referenced_works")
    identities = (
        values.raw(one).rpartition("/")[2] for one in (found if isinstance(found, list) else ())
    )
    return tuple(
        CitedWork(id=f"openalex:{one}")
        for one in islice(identities, MAX_CITED)
        if one.startswith("W") and one != DELETED_WORK
    )


# The works that OpenAlex merged into others: `merged_ids/works` of its snapshot.
#
# https://docs.openalex.org/download-all-data/snapshot-data-format

_ID = re.compile(r"(?:https?://openalex\.org/)?(W[0-9]{1,15})", re.ASCII)
_COLUMNS = ("id", "merge_into_id")


class MergedIdsImporter(FileImporter):
    """Rows of an identifier and its replacement.

    Each becomes a record without a title, which states only that both identifiers name one work:
    the merge joins the library's records of either, and creates no work from it alone. A work
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
