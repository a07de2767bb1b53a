"""PubMed XML: a search's export, or a file of the annual baseline.

https://www.nlm.nih.gov/bsd/licensee/data_elements_doc.html
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model import Work
from citewell_corpus.importers import fields, files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, work_of
from citewell_corpus.importers.folder import FileImporter
from citewell_corpus.importers.xml_records import text_at, texts_at, xml_records

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MARKS = (b"<PubmedArticleSet", b"<PubmedArticle", b"<PubmedBookArticle")


class PubMedXmlImporter(FileImporter):
    """`PubmedArticleSet` files, compressed or not."""

    name = "pubmed-xml"
    about = "PubMed XML (.xml, .xml.gz)"
    version = 2
    suffixes = (".xml",)

    def recognise_file(self, path: Path) -> bool:
        start = files.head(path, 4096)
        return any(mark in start for mark in _MARKS)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = fields.retrieved(path)
        for number, element in xml_records(path, {"PubmedArticle"}, report):
            record = _record_of(element)
            work = work_of(record, "pubmed", "pubmed", day) if record.id else "It has no PMID."
            if isinstance(work, str):
                report.bad_record(path, None, f"Record {number}: {work}")
                continue
            report.records += 1
            yield work


def _record_of(element: Element) -> ExportedRecord:
    article = "MedlineCitation/Article"
    issue = f"{article}/Journal/JournalIssue"
    number = text_at(element, "MedlineCitation/PMID")
    return ExportedRecord(
        id=number,
        kind="article",
        title=_title(text_at(element, f"{article}/ArticleTitle", f"{article}/VernacularTitle")),
        authors=_authors(element),
        year=text_at(
            element,
            f"{issue}/PubDate/Year",
            f"{issue}/PubDate/MedlineDate",
            f"{article}/ArticleDate/Year",
        ),
        container=text_at(element, f"{article}/Journal/Title"),
        short_container=text_at(element, f"{article}/Journal/ISOAbbreviation"),
        volume=text_at(element, f"{issue}/Volume"),
        issue=text_at(element, f"{issue}/Issue"),
        pages=text_at(element, f"{article}/Pagination/MedlinePgn"),
        doi=_doi(element),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        abstract=" ".join(texts_at(element, f"{article}/Abstract/AbstractText")),
        language=";".join(texts_at(element, f"{article}/Language")),
        retracted="Retracted Publication"
        in texts_at(element, f"{article}/PublicationTypeList/PublicationType"),
    )


def _title(text: str) -> str:
    """Without the final stop, and without the brackets of a translated title."""
    text = text.removesuffix(".")
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _authors(element: Element) -> list[str]:
    names = []
    for author in element.findall("MedlineCitation/Article/AuthorList/Author"):
        family = text_at(author, "LastName", "CollectiveName")
        given = text_at(author, "ForeName", "Initials")
        suffix = text_at(author, "Suffix")
        parts = [part for part in (family, suffix, given) if part]
        # Braces prevent splitting the name of a group.
        names.append(", ".join(parts) if author.find("LastName") is not None else f"{{{family}}}")
    return [name for name in names if name != "{}"]


def _doi(element: Element) -> str:
    for path, key in (
        ("PubmedData/ArticleIdList/ArticleId", "IdType"),
        ("MedlineCitation/Article/ELocationID", "EIdType"),
    ):
        for one in element.findall(path):
            if one.get(key) == "doi" and one.text:
                return one.text
    return ""
