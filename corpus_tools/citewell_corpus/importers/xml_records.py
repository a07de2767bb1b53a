"""XML files of many records, read one record at a time, without entities: EndNote, PubMed, DBLP.

EndNote XML is exported by EndNote, Covidence and Rayyan. PubMed XML is a search's export, or a file
of the annual baseline: https://www.nlm.nih.gov/bsd/licensee/data_elements_doc.html. The dump of
DBLP has letters as named entities of HTML: https://dblp.org/faq/1474679.html
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator
from html.entities import name2codepoint
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from xml.etree.ElementTree import ParseError

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.exported import ExportedRecord, without_stop, work_of
from citewell_corpus.importers.files import FileImporter

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_RECORD = 8 << 20
"""Maximum bytes of a record; a larger one is refused with the rest of its file."""


class _TooLargeError(Exception):
    pass


class _Bounded(io.RawIOBase):
    """Stops reading if no record has ended within `MAX_RECORD` bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self.since = 0

    def read(self, size: int = -1, /) -> bytes:
        if self.since > MAX_RECORD:
            raise _TooLargeError
        data = self._rest + self._stream.read(min(size, 1 << 16) if size > 0 else 1 << 16)
        self.since += len(data) - len(self._rest)
        # An entity may continue in the next piece.
        begin = data.rfind(b"&", -_LONGEST_ENTITY) if len(data) > len(self._rest) else -1
        end = len(data) if begin < 0 or b";" in data[begin:] else begin
        self._rest = data[end:]
        return _ENTITY.sub(_as_number, data[:end])


_LONGEST_ENTITY = 12
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z]{2,8}\d?);")


def _as_number(found: re.Match[bytes]) -> bytes:
    """The number of a letter that HTML names: no declaration of entities is read."""
    number = name2codepoint.get(found[1].decode())
    return found[0] if number is None else b"&#%d;" % number


def xml_records(
    path: Path, tags: Collection[str], report: ImportReport
) -> Iterator[tuple[int, Element]]:
    """Number (from 1) and element of each record, an element whose name is in `tags`.

    The element is cleared when the next one is requested. A broken file yields the records before
    the fault, which goes into the report. Raises `LibraryError` if the file cannot be opened.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    number = 0
    with files.opened(path, report) as stream:
        bounded = _Bounded(stream)
        open_elements: list[Element] = []
        try:
            for event, element in iterparse(bounded, events=("start", "end")):
                if event == "start":
                    open_elements.append(element)
                    continue
                open_elements.pop()
                if element.tag in tags:
                    number += 1
                    bounded.since = 0
                    yield number, element
                    element.clear()
                    if open_elements:
                        open_elements[-1].clear()
        except ParseError as error:
            report.bad_record(path, error.position[0], f"The XML is broken: {error}.")
        except (DefusedXmlException, ValueError):
            message = "The file declares entities, which no export of references does."
            report.bad_file(library_error("source-unreadable", message, path).problem)
        except _TooLargeError:
            message = f"A record is larger than {MAX_RECORD} bytes."
            report.bad_file(library_error("source-unreadable", message, path).problem)


def text_at(element: Element, *paths: str) -> str:
    """The text at the first non-empty path, inner elements included."""
    for path in paths:
        found = element.find(path)
        if found is not None and (text := "".join(found.itertext()).strip()):
            return text
    return ""


def texts_at(element: Element, path: str) -> list[str]:
    """The texts of all elements at a path, without empty ones."""
    found = ("".join(one.itertext()).strip() for one in element.findall(path))
    return [text for text in found if text]


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
            work = work_of(_endnote_record(element), place, f"endnote-xml:{path}", day)
            found = f"Record {number}: {work}" if isinstance(work, str) else work
            yield from report.good(path, None, found)


def _endnote_record(element: Element) -> ExportedRecord:
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
            record = _pubmed_record(element) if book is None else _book_record_of(book)
            work = work_of(record, "pubmed", "pubmed", day) if record.id else "It has no PMID."
            found = f"Record {number}: {work}" if isinstance(work, str) else work
            yield from report.good(path, None, found)


def _pubmed_record(element: Element) -> ExportedRecord:
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
        keywords=[
            *texts_at(element, "MedlineCitation/KeywordList/Keyword"),
            *texts_at(element, "MedlineCitation/MeshHeadingList/MeshHeading/DescriptorName"),
        ],
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


_DBLP = frozenset(
    {"article", "inproceedings", "incollection", "book", "phdthesis", "mastersthesis"}
)  # fmt: skip
_NO_PAPERS = frozenset({"proceedings", "www", "data"})


class DblpXmlImporter(FileImporter):
    """`dblp.xml`, compressed or not."""

    name = "dblp-xml"
    about = "the dump of DBLP (dblp.xml.gz)"
    version = 1
    suffixes = (".xml",)

    def recognise_file(self, path: Path) -> bool:
        return b"<dblp" in files.head(path, 4096)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        for number, element in xml_records(path, _DBLP | _NO_PAPERS, report):
            if element.tag in _NO_PAPERS:
                report.skip(element.tag)
                continue
            work = work_of(_dblp_record(element), "dblp", "dblp", day)
            found = f"Record {number}: {work}" if isinstance(work, str) else work
            yield from report.good(path, None, found)


def _dblp_record(element: Element) -> ExportedRecord:
    links = texts_at(element, "ee")
    doi = next((link for link in links if "doi.org/10." in link), "")
    people = "author" if element.find("author") is not None else "editor"
    return ExportedRecord(
        id=element.get("key", ""),
        kind=element.tag,
        title=text_at(element, "title").removesuffix("."),
        authors=texts_at(element, people),
        year=text_at(element, "year"),
        container=text_at(element, "journal", "booktitle"),
        volume=text_at(element, "volume"),
        issue=text_at(element, "number"),
        pages=text_at(element, "pages"),
        publisher=text_at(element, "publisher", "school"),
        doi=doi,
        url=doi or next(iter(links), ""),
    )
