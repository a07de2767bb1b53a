"""EndNote XML, exported by EndNote, Covidence and Rayyan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, work_of
from citewell_corpus.importers.files import FileImporter
from citewell_corpus.importers.xml_records import text_at, texts_at, xml_records

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_KINDS = {
    "journal article": "article",
    "electronic article": "article",
    "magazine article": "article",
    "newspaper article": "article",
    "conference paper": "inproceedings",
    "conference proceedings": "inproceedings",
    "book": "book",
    "electronic book": "book",
    "edited book": "book",
    "book section": "incollection",
    "electronic book section": "incollection",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
    "unpublished work": "unpublished",
}


class EndNoteXmlImporter(FileImporter):
    """The XML export of EndNote: `<xml><records><record>`."""

    name = "endnote-xml"
    about = "EndNote XML (.xml)"
    version = 2
    suffixes = (".xml",)

    def recognise_file(self, path: Path) -> bool:
        start = files.head(path, 8192)
        return b"<record" in start and b"<ref-type" in start

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day, place = files.retrieved(path), f"endnote:{files.place(path)}"
        for number, element in xml_records(path, {"record"}, report):
            work = work_of(_record_of(element), place, f"endnote-xml:{path}", day)
            if isinstance(work, str):
                report.bad_record(path, None, f"Record {number}: {work}")
                continue
            report.records += 1
            yield work


def _record_of(element: Element) -> ExportedRecord:
    ref_type = element.find("ref-type")
    name = ref_type.get("name", "") if ref_type is not None else ""
    kind = _KINDS.get(name.lower(), "misc")
    return ExportedRecord(
        id=text_at(element, "rec-number"),
        kind=kind,
        title=text_at(element, "titles/title"),
        authors=texts_at(element, "contributors/authors/author"),
        year=text_at(element, "dates/year", "dates/pub-dates/date"),
        container=text_at(element, "titles/secondary-title", "periodical/full-title"),
        short_container=text_at(element, "periodical/abbr-1", "titles/alt-title"),
        volume=text_at(element, "volume"),
        issue=text_at(element, "number", "issue"),
        pages=text_at(element, "pages"),
        publisher=text_at(element, "publisher"),
        doi=text_at(element, "electronic-resource-num"),
        url=text_at(element, "urls/related-urls/url", "urls/web-urls/url"),
        abstract=text_at(element, "abstract"),
        language=text_at(element, "language"),
    )
