"""CSL-JSON, as Zotero, Mendeley, pandoc and the DOI resolvers write it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from citewell.model import Author, Provenance, Work
from citewell.model.ids import arxiv_id, normalise_doi
from citewell_corpus.importers import fields, json_list
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import head
from citewell_corpus.importers.folder import FileImporter

_KINDS = {
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "article": "misc",
    "paper-conference": "inproceedings",
    "chapter": "incollection",
    "book": "book",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
}


class CslImporter(FileImporter):
    """A CSL-JSON array of items."""

    name = "csl-json"
    about = "CSL-JSON (.json), the export of Zotero and most reference managers"
    suffixes = (".json",)

    def recognise_file(self, path: Path) -> bool:
        start = head(path, 4096)
        return start.startswith(b"[") and b'"type"' in start and (
            b'"issued"' in start or b'"container-title"' in start or b'"family"' in start
        )  # fmt: skip

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = fields.retrieved(path)
        for line, raw in json_list.records(path, "items", report):
            try:
                item = msgspec.json.decode(raw, type=dict[str, Any])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                report.bad_record(path, line, f"The item is not an object: {error}.")
                continue
            work = work_of_csl(item, path, day)
            if isinstance(work, str):
                report.bad_record(path, line, work)
                continue
            report.records += 1
            yield work


def work_of_csl(item: dict[str, Any], path: Path, day: str) -> Work | str:
    """The work of one CSL item, or the message for the report."""
    title = fields.title(item.get("title"))
    key = fields.raw(item.get("citation-key") or item.get("citekey") or "")
    identity = fields.raw(item.get("id")) or key
    if not title:
        return "The item has no title."
    kind = _KINDS.get(fields.raw(item.get("type")), "misc")
    container = fields.text(item.get("container-title"))
    url = fields.raw(item.get("URL"))
    doi = normalise_doi(fields.raw(item.get("DOI"))) or normalise_doi(url)
    identifier = f"csl:{fields.place(path)}:{identity or title[:80]}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(item.get("author")),
        year=_year(item.get("issued")),
        kind=kind,
        venue=fields.text(item.get("event-title") or item.get("container-title-short"), 200),
        booktitle=container if kind in ("inproceedings", "incollection") else "",
        journal=container if kind in ("article", "misc") else "",
        volume=fields.text(item.get("volume"), 60),
        issue=fields.text(item.get("issue"), 60),
        pages=fields.pages(item.get("page")),
        publisher=fields.text(item.get("publisher")),
        doi=doi,
        arxiv=arxiv_id(doi) or arxiv_id(url) or arxiv_id(fields.text(item.get("number"))),
        url=url,
        bibkey=key,
        abstract=fields.abstract(item.get("abstract")),
        same_as=(identifier,),
        provenance=(Provenance(source=f"csl-json:{path}", source_id=identity, retrieved=day),),
    )


def _authors(value: object) -> tuple[Author, ...]:
    authors = []
    for name in value[: fields.MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(name, dict):
            continue
        family = fields.text(name.get("family") or name.get("literal"), 300)
        particle = fields.text(
            name.get("non-dropping-particle") or name.get("dropping-particle"), 60
        )
        if family:
            authors.append(
                Author(
                    family=f"{particle} {family}" if particle else family,
                    given=fields.text(name.get("given"), 300),
                    suffix=fields.text(name.get("suffix"), 60),
                )
            )
    return tuple(authors)


def _year(value: object) -> int | None:
    if not isinstance(value, dict):
        return fields.year(value)
    parts = value.get("date-parts")
    if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0]:
        first = parts[0][0]
        return fields.year(first if isinstance(first, int) else str(first))
    return fields.year(value.get("raw") or value.get("literal"))
