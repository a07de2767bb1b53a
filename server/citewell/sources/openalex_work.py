"""An OpenAlex work object as a `Work`: the same in its snapshot and in its API.

https://docs.openalex.org/api-entities/works/work-object
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from citewell.model import Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values

_KINDS = {
    "book": "book",
    "book-chapter": "incollection",
    "dissertation": "phdthesis",
    "report": "techreport",
}
_MAX_POSITION = 20_000
DELETED_WORK = "W4285719527"
"""The record "Deleted Work", into which OpenAlex merges what it deletes. The references of millions
of works still name it."""


def work_of_openalex(record: dict[str, Any], day: str) -> Work | str:
    """The work of one OpenAlex record, or why it is none."""
    identity = values.raw(record.get("id")).rpartition("/")[2]
    title = values.title(record.get("title") or record.get("display_name"))
    if not identity.startswith("W"):
        return "The record has no OpenAlex id."
    if identity == DELETED_WORK:
        return "The record stands for deleted works."
    if not title:
        return "The record has no title."
    place = values.mapping(record.get("primary_location")) or values.mapping(
        record.get("host_venue")
    )
    source = values.mapping(place.get("source")) or place
    kind, booktitle, journal = _published_in(record, source)
    biblio = values.mapping(record.get("biblio"))
    doi = normalise_doi(values.raw(record.get("doi")))
    url = values.raw(place.get("landing_page_url") or place.get("url"))
    identifier = f"openalex:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(_names(record.get("authorships"))),
        year=values.year(record.get("publication_year"))
        or values.year(record.get("publication_date")),
        kind=kind,
        booktitle=booktitle,
        journal=journal,
        volume=values.text(biblio.get("volume"), 60),
        issue=values.text(biblio.get("issue"), 60),
        pages=_pages(biblio),
        publisher=values.text(source.get("host_organization_name") or source.get("publisher")),
        doi=doi,
        arxiv=_arxiv(record, doi, url),
        url=url or (f"https://doi.org/{doi}" if doi else values.raw(record.get("id"))),
        abstract=abstract_of(record.get("abstract_inverted_index")),
        citations=values.count(record.get("cited_by_count")),
        language=values.language(record.get("language")),
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
    return values.abstract(" ".join(words[position] for position in sorted(words)))


def _published_in(record: dict[str, Any], source: dict[str, Any]) -> tuple[str, str, str]:
    """Kind, book title, journal."""
    name = values.text(source.get("display_name"))
    kind = values.raw(record.get("type"))
    if kind in _KINDS:
        return _KINDS[kind], name if kind == "book-chapter" else "", ""
    where = values.raw(source.get("type"))
    if where == "repository" or kind == "preprint":
        return "misc", "", ""
    if where in ("conference", "book series") or kind in ("proceedings-article",):
        return "inproceedings", name, ""
    return ("article", "", name) if name else ("misc", "", "")


def _names(authorships: object) -> Iterator[object]:
    for authorship in authorships if isinstance(authorships, list) else ():
        if isinstance(authorship, dict):
            author = values.mapping(authorship.get("author"))
            yield author.get("display_name") or authorship.get("raw_author_name")


def _pages(biblio: dict[str, Any]) -> str:
    first, last = (values.text(biblio.get(name), 40) for name in ("first_page", "last_page"))
    return f"{first}-{last}" if first and last and first != last else first


def _arxiv(record: dict[str, Any], doi: str, url: str) -> str:
    found = arxiv_id(doi) or arxiv_id(url)
    for place in record.get("locations") or ():
        if found:
            break
        found = arxiv_id(values.raw(values.mapping(place).get("landing_page_url")))
    return found
