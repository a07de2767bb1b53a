"""OpenAlex works in JSON Lines, as its snapshot and its API give them.

https://docs.openalex.org/api-entities/works/work-object
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from citewell.model import Provenance, Work
from citewell.model.ids import arxiv_id, normalise_doi
from citewell_corpus.importers import fields, files
from citewell_corpus.importers.contract import MAX_CITED, Cited, Citing, ImportReport
from citewell_corpus.importers.folder import FileImporter

_NO_PAPER = frozenset({"paratext", "peer-review", "grant", "supplementary-materials"})
_KINDS = {
    "book": "book",
    "book-chapter": "incollection",
    "dissertation": "phdthesis",
    "report": "techreport",
}
_MAX_POSITION = 20_000


class OpenAlexImporter(FileImporter):
    """JSON Lines of OpenAlex works, plain or compressed, or a folder of the snapshot's parts."""

    name = "openalex"
    about = "OpenAlex works (JSON Lines, .gz, or a folder of them), with what they cite"
    version = 2
    suffixes = (".jsonl", ".json", ".ndjson", "")

    def recognise_file(self, path: Path) -> bool:
        line = files.first_line(path, 1 << 16)
        return line.startswith(b"{") and b"openalex.org/W" in line and b'"authorships"' in line

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = fields.retrieved(path)
        for number, line in files.lines(path, report):
            try:
                record = msgspec.json.decode(line, type=dict[str, Any])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                report.bad_record(path, number, f"The line is not a record: {error}.")
                continue
            if record.get("is_paratext") or record.get("type") in _NO_PAPER:
                report.skip("paratext")
                continue
            work = _work(record, day)
            if isinstance(work, str):
                report.bad_record(path, number, work)
                continue
            report.records += 1
            references = _references(record)
            if references:
                report.cites(Citing(work.title, references, work.abstract))
            yield work


def _references(record: dict[str, Any]) -> tuple[Cited, ...]:
    found = record.get("referenced_works")
    identities = (
        fields.raw(one).rpartition("/")[2] for one in (found if isinstance(found, list) else ())
    )
    return tuple(
        Cited(id=f"openalex:{one}") for one in islice(identities, MAX_CITED) if one.startswith("W")
    )


def _work(record: dict[str, Any], day: str) -> Work | str:
    identity = fields.raw(record.get("id")).rpartition("/")[2]
    title = fields.title(record.get("title") or record.get("display_name"))
    if not identity.startswith("W"):
        return "The record has no OpenAlex id."
    if not title:
        return "The record has no title."
    place = _dict(record.get("primary_location")) or _dict(record.get("host_venue"))
    source = _dict(place.get("source")) or place
    kind, booktitle, journal = _published_in(record, source)
    biblio = _dict(record.get("biblio"))
    doi = normalise_doi(fields.raw(record.get("doi")))
    url = fields.raw(place.get("landing_page_url") or place.get("url"))
    identifier = f"openalex:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=fields.authors(_names(record.get("authorships"))),
        year=fields.year(record.get("publication_year"))
        or fields.year(record.get("publication_date")),
        kind=kind,
        booktitle=booktitle,
        journal=journal,
        volume=fields.text(biblio.get("volume"), 60),
        issue=fields.text(biblio.get("issue"), 60),
        pages=_pages(biblio),
        publisher=fields.text(source.get("host_organization_name") or source.get("publisher")),
        doi=doi,
        arxiv=_arxiv(record, doi, url),
        url=url or (f"https://doi.org/{doi}" if doi else fields.raw(record.get("id"))),
        abstract=abstract_of(record.get("abstract_inverted_index")),
        citations=fields.count(record.get("cited_by_count")),
        retracted=record.get("is_retracted") is True,
        same_as=(identifier,),
        provenance=(Provenance(source="openalex", source_id=identity, retrieved=day),),
    )


def abstract_of(index: object) -> str:
    """The text of an inverted index {word: [positions]}; positions beyond 20,000 are left out."""
    if not isinstance(index, dict):
        return ""
    words: dict[int, str] = {}
    for word, positions in index.items():
        for position in positions if isinstance(positions, list) else ():
            if isinstance(position, int) and 0 <= position < _MAX_POSITION:
                words[position] = word
    return fields.abstract(" ".join(words[position] for position in sorted(words)))


def _published_in(record: dict[str, Any], source: dict[str, Any]) -> tuple[str, str, str]:
    """Kind, book title, journal."""
    name = fields.text(source.get("display_name"))
    kind = fields.raw(record.get("type"))
    if kind in _KINDS:
        return _KINDS[kind], name if kind == "book-chapter" else "", ""
    where = fields.raw(source.get("type"))
    if where == "repository" or kind == "preprint":
        return "misc", "", ""
    if where in ("conference", "book series") or kind in ("proceedings-article",):
        return "inproceedings", name, ""
    return ("article", "", name) if name else ("misc", "", "")


def _names(authorships: object) -> Iterator[object]:
    for authorship in authorships if isinstance(authorships, list) else ():
        if isinstance(authorship, dict):
            author = _dict(authorship.get("author"))
            yield author.get("display_name") or authorship.get("raw_author_name")


def _pages(biblio: dict[str, Any]) -> str:
    first, last = (fields.text(biblio.get(name), 40) for name in ("first_page", "last_page"))
    return f"{first}-{last}" if first and last and first != last else first


def _arxiv(record: dict[str, Any], doi: str, url: str) -> str:
    found = arxiv_id(doi) or arxiv_id(url)
    for place in record.get("locations") or ():
        if found:
            break
        found = arxiv_id(fields.raw(_dict(place).get("landing_page_url")))
    return found


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
