"""A record from the export of a reference manager or citation index, with text fields."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.model import Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values


class ExportedRecord(msgspec.Struct, kw_only=True):
    """The raw fields of one exported record."""

    id: str = ""
    """The record's identifier in the file or its index."""
    kind: str = "misc"
    """The BibTeX entry type."""
    title: str = ""
    authors: Sequence[str] = ()
    """Names as "Family, Given" or "Given Family"."""
    year: str = ""
    """A year, or any date with one."""
    container: str = ""
    """The journal, the proceedings or the book."""
    short_container: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    doi: str = ""
    url: str = ""
    abstract: str = ""
    citations: int | None = None
    language: str = ""
    """A code or a name."""
    keywords: Sequence[str] = ()
    retracted: bool = False
    notice: str = ""
    """The DOI of the retraction notice, if the paper was retracted."""


def work_of(record: ExportedRecord, place: str, source: str, day: str) -> Work | str:
    """The work of a record, or the reason why it is not usable.

    `place` distinguishes ids of several files, `source` names the file as provenance, and `day` is
    the ISO 8601 date of the file.
    """
    title = values.title(record.title)
    if not title:
        return "The record has no title."
    doi = normalise_doi(values.raw(record.doi)) or normalise_doi(values.raw(record.url))
    url = values.raw(record.url)
    container = values.text(record.container)
    in_book = record.kind in ("inproceedings", "incollection")
    identity = values.raw(record.id, 200) or doi or title[:80]
    identifier = f"{place}:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(record.authors),
        year=values.year(record.year),
        kind=record.kind,
        venue=values.text(record.short_container, 200),
        booktitle=container if in_book else "",
        journal=container if record.kind in ("article", "misc") else "",
        volume=values.text(record.volume, 60),
        issue=values.text(record.issue, 60),
        pages=values.pages(record.pages),
        publisher=values.text(record.publisher),
        doi=doi,
        arxiv=arxiv_id(doi) or arxiv_id(url),
        url=url,
        abstract=values.abstract(record.abstract),
        citations=values.count(record.citations),
        language=values.language(record.language),
        keywords=values.keywords(record.keywords),
        retracted=record.retracted,
        notice=normalise_doi(values.raw(record.notice)) if record.retracted else "",
        same_as=(identifier,),
        provenance=(Provenance(source=source, source_id=identity, retrieved=day),),
    )


def without_stop(title: str) -> str:
    """PubMed's title without its final stop, and without the brackets of a translated one."""
    title = title.removesuffix(".")
    return title[1:-1] if title.startswith("[") and title.endswith("]") else title


def page_range(first: str, last: str) -> str:
    """ "12" and "19" as "12-19"; a range or an article number in `first` stays as it is."""
    first, last = first.strip(), last.strip()
    return f"{first}-{last}" if first and last and last != first and "-" not in first else first
