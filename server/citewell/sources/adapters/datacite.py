"""DataCite: DOIs of data sets, software, theses, and of arXiv. https://support.datacite.org"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import parse_author
from citewell.sources import values
from citewell.sources.contract import (
    MATCHES,
    Answer,
    Ask,
    Conditions,
    Source,
    SourcePolicy,
    SourceQuery,
    bare_words,
    child,
    children,
    json_object,
    records,
)

_KINDS = {
    "journalarticle": "article",
    "conferencepaper": "inproceedings",
    "bookchapter": "incollection",
    "book": "book",
    "dissertation": "phdthesis",
    "report": "techreport",
    "software": "software",
    "dataset": "dataset",
}


class DataCite(Source):
    """Records by DOI (and arXiv id, whose DOIs it registers); matching by title; search."""

    name = "datacite"
    title = "DataCite"
    gives = "DOIs of data sets, software, theses, and those of arXiv"
    sends = "DOIs, arXiv ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://api.datacite.org",
        hosts=("api.datacite.org",),
        per_second=3.0,
        at_once=2,
        contact_parameter="mailto",
    )
    ids = frozenset({"doi", "arxiv"})
    can = frozenset({"match", "search"})
    most_words = 3

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        doi = f"10.48550/arxiv.{values[0]}" if kind == "arxiv" else values[0]
        return [await self.works(Ask(path=f"/dois/{quote(doi)}", absent=True), decode_doi)]

    async def _match(self, wanted: SourceQuery) -> Answer:
        words = " ".join(bare_words(wanted.title))
        return await self._query(f'titles.title:"{words}"', MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        filters = (
            *where.people('creators.name:"{}"'), *where.years("publicationYear:[{} TO {}]")
        )  # fmt: skip
        return await self._query(" AND ".join((*bare_words(text)[:12], *filters)), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("query", text), ("page[size]", str(limit)), ("disable-facets", "true"))
        return await self.works(Ask(path="/dois", params=params), decode_list)


def decode_doi(body: bytes) -> list[Work]:
    """The record of `/dois/{id}`."""
    return records([child(json_object(body), "data")], work_of_datacite)


def decode_list(body: bytes) -> list[Work]:
    """The records of `/dois`."""
    return records(children(json_object(body), "data"), work_of_datacite)


def work_of_datacite(record: dict[str, Any], day: str) -> Work | str:
    """The work of one JSON:API resource, or the reason why it is none."""
    found = record.get("attributes")
    facts: dict[str, Any] = found if isinstance(found, dict) else {}
    doi = normalise_doi(values.raw(facts.get("doi") or record.get("id")))
    title = _title(facts.get("titles"))
    if not doi:
        return "The record has no DOI."
    if not title:
        return "The record has no title."
    types = values.mapping(facts.get("types"))
    kind = _KINDS.get(values.raw(types.get("resourceTypeGeneral")).lower(), "misc")
    place = values.mapping(facts.get("container"))
    container = values.text(place.get("title"))
    publisher = facts.get("publisher")
    if isinstance(publisher, dict):
        publisher = publisher.get("name")
    arxiv = arxiv_id(doi)
    identifier = f"datacite:{doi}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(facts.get("creators")),
        year=values.year(facts.get("publicationYear")),
        kind="misc" if arxiv else kind,
        venue="arXiv" if arxiv else "",
        booktitle=container if kind in ("inproceedings", "incollection") else "",
        journal=container if kind == "article" and not arxiv else "",
        volume=values.text(place.get("volume"), 60),
        issue=values.text(place.get("issue"), 60),
        publisher="" if arxiv else values.text(publisher),
        doi=doi,
        arxiv=arxiv,
        url=values.raw(facts.get("url")) or f"https://doi.org/{doi}",
        citations=values.count(facts.get("citationCount")),
        language=values.language(facts.get("language")),
        same_as=(identifier,),
        provenance=(Provenance(source="datacite", source_id=doi, retrieved=day),),
    )


def _title(value: object) -> str:
    """The main title: the first without a type such as "Subtitle"."""
    titles = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    main = [item for item in titles if not item.get("titleType")] or titles
    return values.title(main[0].get("title")) if main else ""


def _authors(value: object) -> tuple[Author, ...]:
    authors = []
    for name in value[: values.MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(name, dict):
            continue
        family = values.text(name.get("familyName"), 300)
        whole = values.text(name.get("name"), 300)
        if family:
            authors.append(Author(family=family, given=values.text(name.get("givenName"), 300)))
        elif whole and name.get("nameType") == "Organizational":
            authors.append(Author(family=whole))
        elif whole:
            authors.append(parse_author(whole))
    return tuple(author for author in authors if author.family)
