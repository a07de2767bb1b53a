"""Semantic Scholar's Academic Graph. https://api.semanticscholar.org/api-docs/graph"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from citewell.model import Provenance, Work
from citewell.model.identifiers import acl_id, arxiv_id, normalise_doi
from citewell.sources import values
from citewell.sources.contract import (
    Answer,
    Ask,
    Conditions,
    Failed,
    Matched,
    NoMatch,
    NonsenseError,
    Source,
    SourcePolicy,
    SourceQuery,
    children,
    json_object,
    records,
)

_FIELDS = (
    "title,authors,year,venue,publicationVenue,journal,externalIds,publicationTypes,"
    "citationCount,url"
)
_PREFIX = {"doi": "DOI:", "arxiv": "ARXIV:", "pmid": "PMID:"}
_CONFERENCE = frozenset({"Conference"})


class SemanticScholar(Source):
    """Records by DOI, arXiv and PubMed id; matching by title; search; citations both ways."""

    name = "semantic-scholar"
    title = "Semantic Scholar"
    gives = "computer science and medicine, preprints with their papers, citations both ways"
    sends = "DOIs, arXiv ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://api.semanticscholar.org/graph/v1",
        hosts=("api.semanticscholar.org",),
        per_second=0.8,
        per_second_with_key=0.9,
        at_once=1,
        key_variables=("SEMANTIC_SCHOLAR_API_KEY", "S2_API_KEY"),
        key_header="x-api-key",
        max_bytes=10_000_000,
    )
    ids = frozenset({"doi", "arxiv", "pmid"})
    can = frozenset({"match", "search", "references", "citations"})
    batch = 100

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        names = [f"{_PREFIX[kind]}{value}" for value in values]
        if len(names) == 1:
            ask = Ask(path=f"/paper/{quote(names[0])}", params=(("fields", _FIELDS),), absent=True)
            return [await self.works(ask, decode_paper)]
        ask = Ask(
            path="/paper/batch",
            params=(("fields", _FIELDS),),
            body=msgspec.json.encode({"ids": names}),
        )
        count = len(names)
        got = await self._fetch(type(self), ask, lambda body: decode_batch(body, count))
        if isinstance(got, Failed):
            return [got] * count
        rows = got if isinstance(got, list) else [None] * count
        return [NoMatch(self.name) if row is None else Matched(self.name, (row,)) for row in rows]

    async def _match(self, wanted: SourceQuery) -> Answer:
        params = (("query", wanted.title), ("fields", _FIELDS))
        ask = Ask(path="/paper/search/match", params=params, absent=True)
        return await self.works(ask, decode_list)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        params = (
            ("query", " ".join((text, *where.authors))),
            *(("year", years) for years in where.years("{}-{}")),
            ("limit", str(limit)),
            ("fields", _FIELDS),
        )
        return await self.works(Ask(path="/paper/search", params=params), decode_list)

    async def _references(self, kind: str, value: str, limit: int) -> Answer:
        return await self._linked("references", "citedPaper", kind, value, limit)

    async def _citations(self, kind: str, value: str, limit: int) -> Answer:
        return await self._linked("citations", "citingPaper", kind, value, limit)

    async def _linked(self, what: str, side: str, kind: str, value: str, limit: int) -> Answer:
        if kind not in self.ids:
            return self.unable(f"does not support look-up by {kind}")
        ask = Ask(
            path=f"/paper/{quote(_PREFIX[kind] + value)}/{what}",
            params=(("fields", _FIELDS), ("limit", str(min(limit, 1000)))),
            absent=True,
        )
        return await self.works(ask, lambda body: decode_linked(body, side))


def decode_paper(body: bytes) -> list[Work]:
    """The record of `/paper/{id}`."""
    return records([json_object(body)], work_of_paper)


def decode_list(body: bytes) -> list[Work]:
    """The records of a search; an answer without records has `total: 0` and may lack `data`."""
    found = json_object(body)
    if "data" not in found and found.get("total") == 0:
        return []
    return records(children(found, "data"), work_of_paper)


def decode_linked(body: bytes, side: str) -> list[Work]:
    """The papers on one side of citations, without those that Semantic Scholar cannot name."""
    links = children(json_object(body), "data")
    papers = [link[side] for link in links if isinstance(link.get(side), dict)]
    return records([paper for paper in papers if paper.get("paperId")], work_of_paper)


def decode_batch(body: bytes, count: int) -> list[Work | None]:
    """The papers of `/paper/batch` in order, None for a missing one."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NonsenseError("the body is not JSON") from None
    if not isinstance(found, list) or len(found) != count:
        raise NonsenseError("the body is not a list of as many papers as were asked for")
    day = values.today()
    works = [work_of_paper(item, day) if isinstance(item, dict) else None for item in found]
    return [work if isinstance(work, Work) else None for work in works]


def work_of_paper(record: dict[str, Any], day: str) -> Work | str:
    """The work of one paper, or the reason why it is none."""
    identity = values.raw(record.get("paperId"))
    title = values.title(record.get("title"))
    if not identity:
        return "The record has no id."
    if not title:
        return "The record has no title."
    others = values.mapping(record.get("externalIds"))
    doi = normalise_doi(values.raw(others.get("DOI")))
    arxiv = arxiv_id(values.raw(others.get("ArXiv"))) or arxiv_id(doi)
    acl = acl_id(values.raw(others.get("ACL")))
    place = values.mapping(record.get("journal"))
    venue = values.mapping(record.get("publicationVenue"))
    name = values.text(venue.get("name") or record.get("venue") or place.get("name"))
    kind = _kind(record, venue, name)
    identifier = f"s2:{identity}"
    same = [identifier, *([f"acl:{acl}"] if acl else [])]
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(_names(record.get("authors"))),
        year=values.year(record.get("year")),
        kind=kind,
        venue=name if kind == "misc" else "",
        booktitle=name if kind == "inproceedings" else "",
        journal=name if kind == "article" else "",
        volume=values.text(place.get("volume"), 60) if kind == "article" else "",
        pages=values.pages(place.get("pages")) if kind != "misc" else "",
        doi=doi,
        arxiv=arxiv,
        url=values.raw(record.get("url")) or f"https://www.semanticscholar.org/paper/{identity}",
        abstract=values.abstract(record.get("abstract")),
        citations=values.count(record.get("citationCount")),
        same_as=tuple(same),
        provenance=(Provenance(source="semantic-scholar", source_id=identity, retrieved=day),),
    )


def _kind(record: dict[str, Any], venue: dict[str, Any], name: str) -> str:
    if name.lower().startswith("arxiv") or not name:
        return "misc"
    types = record.get("publicationTypes")
    if venue.get("type") == "conference" or (
        isinstance(types, list) and _CONFERENCE & {t for t in types if isinstance(t, str)}
    ):
        return "inproceedings"
    if venue.get("type") == "journal" or (isinstance(types, list) and "JournalArticle" in types):
        return "article"
    return "misc"


def _names(value: object) -> list[object]:
    listed = value if isinstance(value, list) else []
    return [author.get("name") for author in listed if isinstance(author, dict)]
