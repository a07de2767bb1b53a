"""Works in formats of exchange: read from CSL-JSON, as Zotero, Mendeley, pandoc and DOI resolvers
write it, and written as a line of our own, in which the answers of sources are kept.
"""

from __future__ import annotations

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
