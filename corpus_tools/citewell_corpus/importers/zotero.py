"""Zotero items in JSON: the export of Better BibTeX, or responses of Zotero's web API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values
from citewell_corpus.importers import files, json_records
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import FileImporter, head

_KINDS = {
    "journalArticle": "article",
    "magazineArticle": "article",
    "newspaperArticle": "article",
    "conferencePaper": "inproceedings",
    "bookSection": "incollection",
    "book": "book",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
    "preprint": "misc",
    "document": "misc",
    "webpage": "misc",
    "dataset": "misc",
    "computerProgram": "misc",
}
_NO_PAPER = frozenset({"attachment", "note", "annotation"})
_KEY_IN_EXTRA = re.compile(r"^\s*citation key\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


class ZoteroImporter(FileImporter):
    """An object with `items`, or an array of items, that have an `itemType`."""

    name = "zotero"
    about = "Zotero items (.json): Better BibTeX's export, or answers of the web API"
    version = 2
    suffixes = (".json",)

    def recognise_file(self, path: Path) -> bool:
        start = head(path, 1 << 16)
        return start[:1] in (b"{", b"[") and b'"itemType"' in start

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        yield from json_records.works(
            _papers(path, report), lambda item: _work(item, path, day), path, report
        )


def _papers(path: Path, report: ImportReport) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, item in json_records.in_array(path, "items", report):
        data = item.get("data")
        if isinstance(data, dict):
            item = {**item, **data}
        if item.get("itemType") in _NO_PAPER:
            report.skip(str(item["itemType"]))
        else:
            yield line, item


def _work(item: dict[str, Any], path: Path, day: str) -> Work | str:
    title = values.title(item.get("title"))
    if not title:
        return "The item has no title."
    extra = values.raw(item.get("extra"), 10_000)
    found = _KEY_IN_EXTRA.search(extra)
    key = values.raw(item.get("citationKey") or item.get("citekey") or "")
    key = key or (found[1] if found else "")
    identity = values.raw(item.get("itemKey") or item.get("key") or item.get("uri")) or key
    kind = _KINDS.get(values.raw(item.get("itemType")), "misc")
    url = values.raw(item.get("url"))
    doi = normalise_doi(values.raw(item.get("DOI"))) or normalise_doi(extra)
    arxiv = arxiv_id(values.raw(item.get("archiveID"))) or arxiv_id(url) or arxiv_id(extra)
    identifier = f"zotero:{files.place(path)}:{identity or title[:80]}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(item.get("creators")),
        year=values.year(item.get("date")),
        kind=kind,
        venue=values.text(item.get("conferenceName") or item.get("journalAbbreviation"), 200),
        booktitle=values.text(item.get("proceedingsTitle") or item.get("bookTitle"))
        or (values.text(item.get("publicationTitle")) if kind == "inproceedings" else ""),
        journal=values.text(item.get("publicationTitle")) if kind == "article" else "",
        volume=values.text(item.get("volume"), 60),
        issue=values.text(item.get("issue"), 60),
        pages=values.pages(item.get("pages")),
        publisher=values.text(
            item.get("publisher") or item.get("university") or item.get("institution")
        ),
        doi=doi,
        arxiv=arxiv or arxiv_id(doi),
        url=url,
        bibkey=key,
        abstract=values.abstract(item.get("abstractNote")),
        language=values.language(item.get("language")),
        same_as=(identifier,),
        provenance=(Provenance(source=f"zotero:{path}", source_id=identity, retrieved=day),),
    )


def _authors(value: object) -> tuple[Author, ...]:
    authors = []
    for creator in value[: values.MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(creator, dict) or creator.get("creatorType", "author") != "author":
            continue
        family = values.text(creator.get("lastName") or creator.get("name"), 300)
        if family:
            authors.append(Author(family=family, given=values.text(creator.get("firstName"), 300)))
    return tuple(authors)
