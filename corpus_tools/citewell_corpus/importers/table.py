"""Tables of references: CSV of Scopus and Google Scholar, tables of the Web of Science, Retraction
Watch's list of retracted papers, and others."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, page_range, work_of
from citewell_corpus.importers.files import FileImporter

MAX_FIELD = 1 << 20
"""Maximum characters of a field; Scopus writes all references of a paper into one."""

_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("eid", "ut (unique wos id)", "ut", "id", "key"),
    "type": ("document type", "dt", "publication type", "pt", "type", "item type"),
    "title": ("title", "article title", "ti"),
    "authors": (
        "author full names", "author full name", "af", "authors", "author", "au", "author(s)",
    ),
    "year": ("year", "publication year", "py", "date", "originalpaperdate"),
    "container": (
        "source title", "so", "publication title", "journal", "venue", "booktitle",
        "publication",
    ),
    "short": ("abbreviated source title", "journal abbreviation", "ji", "journal iso abbreviation"),
    "volume": ("volume", "vl"),
    "issue": ("issue", "is", "number"),
    "first": ("page start", "start page", "bp"),
    "last": ("page end", "end page", "ep"),
    "pages": ("pages", "art. no.", "article number", "ar"),
    "publisher": ("publisher", "pu"),
    "doi": ("doi", "di", "originalpaperdoi"),
    "url": ("link", "url", "doi link"),
    "abstract": ("abstract", "ab", "abstract note"),
    "language": ("language of original document", "language", "la"),
    "citations": ("cited by", "times cited, wos core", "tc"),
    "nature": ("retractionnature",),
    "notice": ("retractiondoi",),
}  # fmt: skip
"""Names of columns in lower case, the preferred one first."""

_KINDS = (
    ("conference paper", "inproceedings"), ("proceedings paper", "inproceedings"),
    ("conferencepaper", "inproceedings"), ("book chapter", "incollection"),
    ("booksection", "incollection"), ("book", "book"), ("thesis", "phdthesis"),
    ("report", "techreport"), ("article", "article"), ("review", "article"), ("letter", "article"),
    ("note", "article"), ("editorial", "article"), ("short survey", "article"),
)  # fmt: skip
_WOS_KINDS = {"j": "article", "b": "book", "s": "incollection", "c": "inproceedings"}
_RETRACTED = "retraction"
_SCOPUS_NUMBER = re.compile(r"\s*\(\d+\)\s*$")


class TableImporter(FileImporter):
    """A table with a row of column names: commas, semicolons or tabs between the fields."""

    name = "table"
    about = (
        "CSV or tab-separated exports of Scopus, Web of Science, Zotero and Google Scholar, and "
        "Retraction Watch's list (.csv, .tsv, .txt)"
    )
    version = 5
    suffixes = (".csv", ".tsv", ".txt")

    def recognise_file(self, path: Path) -> bool:
        if files.bare_suffix(path) not in self.suffixes:
            return False
        text = files.text_head(path, 1 << 16)
        names = _names(text.splitlines()[0]) if text else {}
        return "title" in names and len(names.keys() & {"authors", "year", "doi"}) >= 2

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day, place = files.retrieved(path), f"table:{files.place(path)}"
        text = files.text(path, report)
        if "title" not in _names(text.split("\n", 1)[0]):
            message = "The first line names no column for the title."
            raise library_error("source-unreadable", message, path)
        for line, work in works_of_table(text, place, f"table:{path}", day):
            yield from report.good(path, line, work)


def works_of_table(
    text: str, place: str, source: str, day: str
) -> Iterator[tuple[int, Work | str]]:
    """The work of each row with the row's first line, or the reason why it is none.

    `place` distinguishes the ids of several tables, `source` names the table as provenance.
    """
    columns = _names(text.split("\n", 1)[0])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    csv.field_size_limit(MAX_FIELD)
    next(rows)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, f"The row cannot be read: {error}."
            continue
        if not any(cell.strip() for cell in row):
            continue
        values = {name: _first(row, places) for name, places in columns.items()}
        # Retraction Watch also lists corrections, expressions of concern and reinstatements.
        if values.get("nature", _RETRACTED).lower() == _RETRACTED:
            yield line, work_of(_record_of(values), place, source, day)


def _first(row: list[str], places: list[int]) -> str:
    """The first non-empty cell."""
    cells = (row[at].strip() for at in places if at < len(row))
    return next((cell for cell in cells if cell), "")


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max("\t,;", key=first.count)


def _names(first_line: str) -> dict[str, list[int]]:
    """The columns of each field, the preferred one first."""
    cells = next(csv.reader([first_line], delimiter=_delimiter(first_line)), [])
    at = {cell.strip().strip('"\ufeff').lower(): i for i, cell in reversed([*enumerate(cells)])}
    found = {field: [at[name] for name in names if name in at] for field, names in _COLUMNS.items()}
    return {field: places for field, places in found.items() if places}


def record_of_columns(row: Mapping[str, str]) -> ExportedRecord:
    """The record of a row, with values by column name in lower case."""
    values = {
        field: next((value for name in names if (value := row.get(name, ""))), "")
        for field, names in _COLUMNS.items()
    }
    return _record_of(values)


def _record_of(values: Mapping[str, str]) -> ExportedRecord:
    def value(name: str) -> str:
        return values.get(name, "")

    kind = value("type").lower()
    cited = value("citations")
    return ExportedRecord(
        id=value("id"),
        kind=_WOS_KINDS.get(kind) or next((to for name, to in _KINDS if name in kind), "misc"),
        title=value("title"),
        authors=_authors(value("authors")),
        year=value("year"),
        container=value("container"),
        short_container=value("short"),
        volume=value("volume"),
        issue=value("issue"),
        pages=page_range(value("first"), value("last")) or value("pages"),
        publisher=value("publisher"),
        doi=value("doi"),
        url=value("url"),
        abstract="" if value("abstract") == "[No abstract available]" else value("abstract"),
        citations=int(cited) if cited.isascii() and cited.isdigit() else None,
        language=value("language"),
        retracted=kind == "retracted" or "retracted publication" in kind or bool(value("nature")),
        notice=value("notice"),
    )


def _authors(text: str) -> list[str]:
    """Names separated by semicolons, or by commas in older exports of Scopus: "Ng A., Li W."."""
    if text.startswith("[No author"):
        return []
    if ";" in text or not re.search(r"\.,\s", text):
        names = [_SCOPUS_NUMBER.sub("", name).strip() for name in text.split(";")]
    else:
        names = [name if name.endswith(".") else name + "." for name in re.split(r"\.,\s+", text)]
    return [_with_comma(name) for name in names if name]


def _with_comma(name: str) -> str:
    """ "Ng A.Y." as "Ng, A.Y.": initials at the end are given names."""
    found = re.fullmatch(r"([^,]+?)\s+((?:[^\W\d_]\.-?)+)", name)
    return f"{found[1]}, {found[2]}" if found else name
