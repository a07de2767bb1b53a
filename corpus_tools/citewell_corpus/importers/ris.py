"""RIS, exported by reference managers, publishers and citation indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from citewell.model import Work
from citewell_corpus.importers import fields, files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, page_range, work_of
from citewell_corpus.importers.folder import FileImporter

_TAG = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*)|$)")
_FIRST_TAG = re.compile(rb"TY  ?- ?[A-Z]{2,7}\s")
_MAX_VALUES = 20_000
"""Maximum values of a record; more mean that records are not terminated."""

_KINDS = {
    "JOUR": "article", "JFULL": "article", "MGZN": "article", "NEWS": "article", "EJOUR": "article",
    "CONF": "inproceedings", "CPAPER": "inproceedings", "CHAP": "incollection",
    "ECHAP": "incollection", "BOOK": "book", "EBOOK": "book", "EDBOOK": "book", "THES": "phdthesis",
    "RPRT": "techreport", "UNPB": "unpublished", "MANSCPT": "unpublished",
}  # fmt: skip


class RisImporter(FileImporter):
    """.ris files; a record may lack its end tag; one without a title is skipped."""

    name = "ris"
    about = "RIS (.ris), the export of EndNote, Mendeley, Scopus, IEEE Xplore and many others"
    version = 2
    suffixes = (".ris",)

    def recognise_file(self, path: Path) -> bool:
        return bool(_FIRST_TAG.search(files.head(path, 4096)))

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day, place, source = fields.retrieved(path), f"ris:{fields.place(path)}", f"ris:{path}"
        for line, values in _records(path, report):
            work = work_of(_record_of(values), place, source, day)
            if isinstance(work, str):
                report.bad_record(path, line, work)
                continue
            report.records += 1
            yield work


def _records(path: Path, report: ImportReport) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """Each record as values by tag, with its first line."""
    values: dict[str, list[str]] = {}
    begun, count, last = 0, 0, ""
    for number, raw in files.lines(path, report):
        line = _decoded(raw)
        found = _TAG.match(line)
        if found is None:
            # A long value continues on a line without a tag.
            if values and last and count <= _MAX_VALUES:
                values[last][-1] += " " + line
            continue
        tag, value = found[1], (found[2] or "").strip()
        if tag in ("TY", "ER") and values:
            yield begun, values
            values, count = {}, 0
        last = ""
        if tag == "TY" or (values and tag != "ER"):
            if tag == "TY":
                begun = number
            count += 1
            if count <= _MAX_VALUES:
                values.setdefault(tag, []).append(value)
                last = tag
    if values:
        yield begun, values


def _decoded(line: bytes) -> str:
    """The decoded text. The format declares no encoding: UTF-8, or a Windows code page in old
    files."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _record_of(values: dict[str, list[str]]) -> ExportedRecord:
    def first(*tags: str) -> str:
        return next((v for tag in tags for v in values.get(tag, ()) if v), "")

    kind = _KINDS.get(first("TY").upper(), "misc")
    whole = kind in ("book", "phdthesis", "techreport", "unpublished")
    title = first("TI", "T1", "CT", *(("BT",) if whole else ()))
    names = [name for tag in ("AU", "A1") for name in values.get(tag, ()) if name]
    return ExportedRecord(
        id=first("ID", "AN"),
        kind=kind,
        title=title,
        authors=names,
        year=first("PY", "Y1", "DA"),
        container="" if whole else first("T2", "JF", "JO", "BT", "C3"),
        short_container="" if whole else first("JA", "J2"),
        volume=first("VL"),
        issue=first("IS"),
        pages=page_range(first("SP") or first("C7"), first("EP")),
        publisher=first("PB"),
        doi=first("DO") or next((v for v in values.get("M3", ()) if v.startswith("10.")), ""),
        url=first("UR", "L2"),
        abstract=first("AB", "N2"),
        language=first("LA"),
    )
