"""Works in formats of exchange: read from CSL-JSON, as Zotero, Mendeley, pandoc and DOI resolvers
write it, and written as a line of our own, in which the answers of sources are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values

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


def work_of_csl(item: dict[str, Any], place: str, source: str, day: str) -> Work | str:
    """The work of one CSL item, or why it has none. `place` keeps ids of several files distinct."""
    title = values.title(item.get("title"))
    key = values.raw(item.get("citation-key") or item.get("citekey") or "")
    identity = values.raw(item.get("id")) or key
    if not title:
        return "The item has no title."
    kind = _KINDS.get(values.raw(item.get("type")), "misc")
    container = values.text(item.get("container-title"))
    url = values.raw(item.get("URL"))
    doi = normalise_doi(values.raw(item.get("DOI"))) or normalise_doi(url)
    identifier = f"csl:{place}:{identity or title[:80]}"
    return Work(
        id=identifier,
        title=title,
        authors=csl_authors(item.get("author")),
        year=csl_year(item.get("issued")),
        kind=kind,
        venue=values.text(item.get("event-title") or item.get("container-title-short"), 200),
        booktitle=container if kind in ("inproceedings", "incollection") else "",
        journal=container if kind in ("article", "misc") else "",
        volume=values.text(item.get("volume"), 60),
        issue=values.text(item.get("issue"), 60),
        pages=values.pages(item.get("page")),
        publisher=values.text(item.get("publisher")),
        doi=doi,
        arxiv=arxiv_id(doi) or arxiv_id(url) or arxiv_id(values.text(item.get("number"))),
        url=url,
        bibkey=key,
        abstract=values.abstract(item.get("abstract")),
        language=values.language(item.get("language")),
        same_as=(identifier,),
        provenance=(Provenance(source=source, source_id=identity, retrieved=day),),
    )


def csl_authors(value: object) -> tuple[Author, ...]:
    """Names in CSL's form, which Crossref shares; an organisation has a name alone."""
    authors = []
    for name in value[: values.MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(name, dict):
            continue
        family = values.text(name.get("family") or name.get("literal") or name.get("name"), 300)
        particle = values.text(
            name.get("non-dropping-particle") or name.get("dropping-particle"), 60
        )
        if family:
            authors.append(
                Author(
                    family=f"{particle} {family}" if particle else family,
                    given=values.text(name.get("given"), 300),
                    suffix=values.text(name.get("suffix"), 60),
                )
            )
    return tuple(authors)


def csl_year(value: object) -> int | None:
    """The year of a CSL date, in the forms of older writers, too: a number, a text, a list."""
    if isinstance(value, list):
        return next((year for one in value[:3] if (year := csl_year(one))), None)
    if not isinstance(value, dict):
        return values.year(value)
    known = (value.get(name) for name in ("date-parts", "year", "raw", "literal", "edtf", "date"))
    return next((year for one in known if (year := csl_year(one))), None)


_FIELDS = (
    *("id", "title", "year", "venue", "booktitle", "journal", "volume", "issue", "pages"),
    *("publisher", "doi", "arxiv", "url", "bibkey", "abstract", "kind", "citations", "language"),
    *("retracted", "notice"),
)
_ENCODER = msgspec.json.Encoder()


def record_line(work: Work) -> bytes:
    """The JSON of one work as the importer `records` reads it."""
    record = {name: value for name in _FIELDS if (value := getattr(work, name))}
    record["authors"] = [_name(author) for author in work.authors]
    record["source"] = work.provenance[0].source if work.provenance else ""
    if work.provenance:
        record["provenance"] = work.provenance
    return _ENCODER.encode(record)


def _name(author: Author) -> str:
    parts = [part for part in (author.family, author.suffix, author.given) if part]
    # Braces keep the name of an organisation from being taken apart.
    return ", ".join(parts) if author.given else f"{{{author.family}}}"


# An OpenAlex work object as a `Work`: the same in its snapshot and in its API.
#
# https://docs.openalex.org/api-entities/works/work-object

_OPENALEX_WORK_KINDS = {
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
    if kind in _OPENALEX_WORK_KINDS:
        return _OPENALEX_WORK_KINDS[kind], name if kind == "book-chapter" else "", ""
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
