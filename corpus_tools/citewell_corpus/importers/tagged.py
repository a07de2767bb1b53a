"""Exports as tagged lines: RIS, .nbib of PubMed, .enw of EndNote, .ciw of Web of Science."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, page_range, without_stop, work_of
from citewell_corpus.importers.files import FileImporter
from citewell_corpus.importers.table import record_of_columns

_MAX_VALUES = 20_000
"""Maximum values of a record; more mean that records are not terminated."""
_KINDS = {
    "JOUR": "article", "JFULL": "article", "MGZN": "article", "NEWS": "article", "EJOUR": "article",
    "CONF": "inproceedings", "CPAPER": "inproceedings", "CHAP": "incollection",
    "ECHAP": "incollection", "BOOK": "book", "EBOOK": "book", "EDBOOK": "book", "THES": "phdthesis",
    "RPRT": "techreport", "UNPB": "unpublished", "MANSCPT": "unpublished",
    "JOURNAL ARTICLE": "article", "MAGAZINE ARTICLE": "article", "NEWSPAPER ARTICLE": "article",
    "ELECTRONIC ARTICLE": "article", "CONFERENCE PAPER": "inproceedings",
    "CONFERENCE PROCEEDINGS": "inproceedings", "BOOK SECTION": "incollection",
    "ELECTRONIC BOOK": "book", "EDITED BOOK": "book", "THESIS": "phdthesis",
    "REPORT": "techreport", "UNPUBLISHED WORK": "unpublished", "MANUSCRIPT": "unpublished",
}  # fmt: skip
"""Entry types by the types of RIS and those of EndNote, in capitals."""
_WHOLE = ("book", "phdthesis", "techreport", "unpublished")
_DOI = re.compile(r"^(10\.\S+?)(?:\s*\[doi\])?$")
Values = dict[str, list[str]]


class _Tags(msgspec.Struct, frozen=True):
    """The line format of a file."""

    line: re.Pattern[str]
    """A line with a tag and its value."""
    begins: str
    """The tag of a record's first line."""
    ends: str = ""
    repeated: frozenset[str] = frozenset()
    """Tags of which each further line is another value, not a continuation."""


def _records(path: Path, tags: _Tags, report: ImportReport) -> Iterator[tuple[int, Values]]:
    """Each record as values by tag, with its first line. It may lack its end."""
    values: Values = {}
    begun, count, last, blank = 0, 0, "", False
    has_beginnings = False
    for number, line in enumerate(files.text(path, report).split("\n"), 1):
        line = line.lstrip("\ufeff").rstrip()
        if not line:
            blank = True
            continue
        found = tags.line.match(line)
        if found is None:
            # A long value continues on a line without a tag.
            if values and last and count <= _MAX_VALUES:
                if last in tags.repeated:
                    values[last].append(line.strip())
                else:
                    values[last][-1] += " " + line.strip()
            continue
        tag, value = found[1], (found[2] or "").strip()
        has_beginnings = has_beginnings or tag == tags.begins
        # Blank lines separate records without a first tag.
        if values and (tag in (tags.begins, tags.ends) or (blank and not has_beginnings)):
            yield begun, values
            values, count = {}, 0
        blank, last = False, ""
        if tag == tags.ends or not (values or tag == tags.begins or not tags.ends):
            continue
        begun = begun if values else number
        count += 1
        if count <= _MAX_VALUES:
            values.setdefault(tag, []).append(value)
            last = tag
    if values:
        yield begun, values


class _TaggedImporter(FileImporter):
    """A record without a title is skipped, and reported with its line."""

    tags: _Tags
    head: re.Pattern[str]
    """The start of a file, or of its first record."""

    def recognise_file(self, path: Path) -> bool:
        return self.head.search(files.text_head(path)) is not None

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        place, source = self.origin(path)
        for line, values in _records(path, self.tags, report):
            yield from report.good(path, line, work_of(self.record(values), place, source, day))

    def origin(self, path: Path) -> tuple[str, str]:
        """The distinguishing part of the file's ids, and the name of the source."""
        return f"{self.name}:{files.place(path)}", f"{self.name}:{path}"

    def record(self, values: Values) -> ExportedRecord:
        """The record from its values by tag."""
        raise NotImplementedError


class RisImporter(_TaggedImporter):
    """.ris files; a record may lack its end tag."""

    name = "ris"
    about = "RIS (.ris), the export of EndNote, Mendeley, Scopus, IEEE Xplore and many others"
    version = 4
    suffixes = (".ris",)
    tags = _Tags(re.compile(r"\s*([A-Z][A-Z0-9])  ?-(?: (.*)|$)"), "TY", "ER")
    head = re.compile(r"TY  ?- ?[A-Z]{2,7}\s")

    def record(self, values: Values) -> ExportedRecord:
        kind = _KINDS.get(_first(values, "TY").upper(), "misc")
        whole = kind in _WHOLE
        return ExportedRecord(
            id=_first(values, "ID", "AN"),
            kind=kind,
            title=_first(values, "TI", "T1", "CT", *(("BT",) if whole else ())),
            authors=_all(values, "AU", "A1"),
            year=_first(values, "PY", "Y1", "DA"),
            container="" if whole else _first(values, "T2", "JF", "JO", "BT", "C3"),
            short_container="" if whole else _first(values, "JA", "J2"),
            volume=_first(values, "VL"),
            issue=_first(values, "IS"),
            pages=page_range(_first(values, "SP", "C7"), _first(values, "EP")),
            publisher=_first(values, "PB"),
            doi=_first(values, "DO") or _doi(values, "M3"),
            url=_first(values, "UR", "L2"),
            abstract=_first(values, "AB", "N2"),
            language=_first(values, "LA"),
            keywords=[one for line in _all(values, "KW") for one in line.split(";")],
        )


class PubMedTextImporter(_TaggedImporter):
    """The MEDLINE format: articles, books and their chapters."""

    name = "pubmed-nbib"
    about = "PubMed's citation file (.nbib), the MEDLINE format"
    version = 2
    suffixes = (".nbib",)
    tags = _Tags(re.compile(r"([A-Z]{2,4}) *-(?: (.*)|$)"), "PMID")
    head = re.compile(r"^PMID ?- ?\d", re.MULTILINE)

    def origin(self, path: Path) -> tuple[str, str]:
        return "pubmed", "pubmed"

    def record(self, values: Values) -> ExportedRecord:
        number = _first(values, "PMID")
        title, book = _first(values, "TI", "TT"), _first(values, "BTI")
        groups = [f"{{{name}}}" for name in _all(values, "CN")]
        return ExportedRecord(
            id=number,
            kind="article" if not book else "incollection" if title else "book",
            title=without_stop(title or book),
            authors=[*(_all(values, "FAU") or _all(values, "AU")), *groups],
            year=_first(values, "DP", "DEP"),
            container=book if title and book else _first(values, "JT"),
            short_container=_first(values, "TA"),
            volume=_first(values, "VI"),
            issue=_first(values, "IP"),
            pages=_first(values, "PG"),
            publisher=_first(values, "PB"),
            doi=_doi(values, "AID", "LID"),
            url=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
            abstract=_first(values, "AB"),
            language=_first(values, "LA"),
            keywords=_all(values, "OT", "MH"),
            retracted="Retracted Publication" in _all(values, "PT"),
        )


class EndNoteTextImporter(_TaggedImporter):
    """Refer's tags (`%A`, `%T`), in the order of EndNote or without its type."""

    name = "endnote"
    about = "EndNote's tagged text (.enw), the export of Google Scholar and many publishers"
    suffixes = (".enw",)
    tags = _Tags(re.compile(r"%([0-9A-Z@!#$%&()*+,.:;<=>?\[\]^_~])(?: (.*)|$)"), "0")
    head = re.compile(r"^%(?:0 [A-Z][a-z]|A .*\n(?:%.*\n)*%T |T .*\n(?:%.*\n)*%[AD] )")

    def record(self, values: Values) -> ExportedRecord:
        given = _first(values, "0").upper()
        usual = "article" if "J" in values else "incollection" if "B" in values else "misc"
        kind = _KINDS.get(given) or ("book" if given == "BOOK" else usual)
        whole = kind in _WHOLE
        return ExportedRecord(
            id=_first(values, "M", "F"),
            kind=kind,
            title=_first(values, "T", *(("B",) if whole else ())),
            authors=[name.rstrip(",") for name in _all(values, "A")],
            year=_first(values, "D", "8"),
            container="" if whole else _first(values, "J", "B", "S"),
            short_container="" if whole else _first(values, "O"),
            volume=_first(values, "V"),
            issue=_first(values, "N"),
            pages=_first(values, "P"),
            publisher=_first(values, "I"),
            doi=_doi(values, "R", "M"),
            url=_first(values, "U", ">"),
            abstract=_first(values, "X"),
            language=_first(values, "G"),
        )


class WebOfScienceImporter(_TaggedImporter):
    """The plain text of Web of Science, and the file that it sends to EndNote."""

    name = "wos"
    about = "Web of Science's plain text and EndNote export (.txt, .ciw)"
    suffixes = (".ciw", ".txt")
    tags = _Tags(
        re.compile(r"([A-Z][A-Z0-9])(?: (.*)|$)"),
        "PT",
        "ER",
        frozenset({"AU", "AF", "BA", "BF", "BE", "CR"}),
    )
    head = re.compile(r"^(?:FN .*\n(?:VR .*\n)?\s*)?PT [A-Z]\n(?:.*\n)*?(?:AU|TI|UT) ")

    def record(self, values: Values) -> ExportedRecord:
        joint = {tag: "; " if tag in self.tags.repeated else " " for tag in values}
        return record_of_columns({tag.lower(): joint[tag].join(values[tag]) for tag in values})


def _first(values: Values, *tags: str) -> str:
    return next((value for tag in tags for value in values.get(tag, ()) if value), "")


def _all(values: Values, *tags: str) -> list[str]:
    return [value for tag in tags for value in values.get(tag, ()) if value]


def _doi(values: Values, *tags: str) -> str:
    found = (_DOI.match(value) for value in _all(values, *tags))
    return next((one[1] for one in found if one), "")
