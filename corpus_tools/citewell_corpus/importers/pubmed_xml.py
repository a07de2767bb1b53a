"""PubMed XML: a search's export, or a file of the annual baseline.

https://www.nlm.nih.gov/bsd/licensee/data_elements_doc.html
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, without_stop, work_of
from citewell_corpus.importers.files import FileImporter
from citewell_corpus.importers.xml_records import text_at, texts_at, xml_records

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_RECORDS = {"PubmedArticle", "PubmedBookArticle"}
_MARKS = (b"<PubmedArticleSet", b"<PubmedArticle", b"<PubmedBookArticle")


class PubMedXmlImporter(FileImporter):
    """`PubmedArticleSet` files, compressed or not."""

    name = "pubmed-xml"
    about = "PubMed XML (.xml, .xml.gz)"
    version = 3
    suffixes = (".xml",)

    def recognise_file(self, path: Path) -> bool:
        start = files.head(path, 4096)
        return any(mark in start for mark in _MARKS)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        for number, element in xml_records(path, _RECORDS, report):
            book = element.find("BookDocument")
            record = _record_of(element) if book is None else _book_record_of(book)
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
        title=without_stop(
            text_at(element, f"{article}/ArticleTitle", f"{article}/VernacularTitle")
        ),
        authors=_authors(element, "MedlineCitation/Article/AuthorList/Author"),
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


def _book_record_of(book: Element) -> ExportedRecord:
    """A book, or a chapter or report of one, as NCBI's Bookshelf holds it."""
    number = text_at(book, "PMID")
    title, whole = text_at(book, "ArticleTitle"), text_at(book, "Book/BookTitle")
    written = _authors(book, 'AuthorList[@Type="authors"]/Author')
    return ExportedRecord(
        id=number,
        kind="incollection" if title and whole else "book",
        title=without_stop(title or whole),
        authors=written
        or _authors(book, "AuthorList/Author")
        or _authors(book, "Book/AuthorList/Author"),
        year=text_at(
            book, "Book/PubDate/Year", "Book/PubDate/MedlineDate", "ContributionDate/Year"
        ),
        container=whole if title else "",
        pages=text_at(book, "Pagination/MedlinePgn"),
        publisher=text_at(book, "Book/Publisher/PublisherName"),
        doi=next((one.text or "" for one in book.iterfind('.//*[@IdType="doi"]')), ""),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        abstract=" ".join(texts_at(book, "Abstract/AbstractText")),
        language=";".join(texts_at(book, "Language")),
    )


def _authors(element: Element, path: str) -> list[str]:
    names = []
    for author in element.findall(path):
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
