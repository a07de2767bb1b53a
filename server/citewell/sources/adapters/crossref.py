"""Crossref: the registry of DOIs of journals, proceedings and books. https://api.crossref.org"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values
from citewell.sources.contract import (
    MATCHES,
    NO_CONDITIONS,
    Answer,
    Ask,
    Conditions,
    Matched,
    NonsenseError,
    Source,
    SourcePolicy,
    SourceQuery,
    child,
    children,
    json_object,
    of_works,
    records,
)
from citewell.sources.values import csl_authors, csl_year

_KINDS = {
    "journal-article": "article",
    "proceedings-article": "inproceedings",
    "book-chapter": "incollection",
    "book-section": "incollection",
    "book": "book",
    "monograph": "book",
    "edited-book": "book",
    "reference-book": "book",
    "dissertation": "phdthesis",
    "report": "techreport",
}
_RETRACTING = frozenset({"retraction", "withdrawal", "removal", "partial_retraction"})
_SELECT = (
    "DOI,URL,title,subtitle,author,issued,published,container-title,short-container-title,"
    "type,volume,issue,page,publisher,is-referenced-by-count,relation,update-to,updated-by"
)


class Crossref(Source):
    """Records, matching and reference lists by DOI; retraction notices."""

    name = "crossref"
    title = "Crossref"
    gives = "DOIs of journals, proceedings and books; reference lists; retraction notices"
    sends = "DOIs; title, first authors and year of references; search words"
    policy = SourcePolicy(
        base="https://api.crossref.org/v1",
        hosts=("api.crossref.org",),
        per_second=8.0,
        at_once=3,
        key_variables=("CROSSREF_PLUS_API_TOKEN",),
        key_header="Crossref-Plus-API-Token",
        key_prefix="Bearer ",
        contact_parameter="mailto",
    )
    ids = frozenset({"doi"})
    can = frozenset({"match", "search", "references"})

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        ask = Ask(path=f"/works/{quote(values[0], safe='')}", absent=True)
        return [await self.works(ask, decode_work)]

    async def _match(self, wanted: SourceQuery) -> Answer:
        words = [wanted.title, *wanted.authors, str(wanted.year or "")]
        text = " ".join(word for word in words if word)
        return await self._search(text, MATCHES, NO_CONDITIONS)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        params = (
            ("query.bibliographic", text),
            *((("query.author", " ".join(where.authors)),) if where.authors else ()),
            *(("filter", one) for one in where.years("from-pub-date:{},until-pub-date:{}")),
            ("rows", str(limit)),
            ("select", _SELECT),
        )
        return await self.works(Ask(path="/works", params=params), decode_list)

    async def _references(self, kind: str, value: str, limit: int) -> Answer:
        ask = Ask(path=f"/works/{quote(value, safe='')}", absent=True)
        answer = await self.works(ask, decode_references)
        if not isinstance(answer, Matched):
            return answer
        return of_works(self.name, answer.works[:limit])


def decode_work(body: bytes) -> list[Work]:
    """The record of `/works/{doi}`."""
    return records([child(json_object(body), "message")], work_of_crossref)


def decode_list(body: bytes) -> list[Work]:
    """The records of `/works`."""
    return records(children(child(json_object(body), "message"), "items"), work_of_crossref)


def decode_references(body: bytes) -> list[Work]:
    """The references of the record of `/works/{doi}` that have a title."""
    message = child(json_object(body), "message")
    if "DOI" not in message:
        raise NonsenseError("the body has no record")
    day = values.today()
    found = message.get("reference")
    listed = found if isinstance(found, list) else []
    made = (_reference(item, day) for item in listed if isinstance(item, dict))
    return [work for work in made if work is not None]


def work_of_crossref(record: dict[str, Any], day: str) -> Work | str:
    """The work of one Crossref record, or the reason why it is none."""
    doi = normalise_doi(values.raw(record.get("DOI")))
    title = values.title(_first(record.get("title")))
    subtitle = values.title(_first(record.get("subtitle")))
    if not doi:
        return "The record has no DOI."
    if not title:
        return "The record has no title."
    if subtitle and subtitle.lower() not in title.lower():
        title = f"{title}: {subtitle}"
    kind = _KINDS.get(values.raw(record.get("type")), "misc")
    container = values.text(_first(record.get("container-title")))
    notice = _notice(record)
    identifier = f"crossref:{doi}"
    return Work(
        id=identifier,
        title=title,
        authors=csl_authors(record.get("author")),
        year=csl_year(record.get("issued")) or csl_year(record.get("published")),
        kind=kind,
        venue=values.text(_first(record.get("short-container-title")), 200),
        booktitle=container if kind in ("inproceedings", "incollection") else "",
        journal=container if kind in ("article", "misc") else "",
        volume=values.text(record.get("volume"), 60),
        issue=values.text(record.get("issue"), 60),
        pages=values.pages(record.get("page")),
        publisher=values.text(record.get("publisher")),
        doi=doi,
        arxiv=arxiv_id(doi) or _preprint(record),
        url=f"https://doi.org/{doi}",
        abstract=values.abstract(record.get("abstract")),
        citations=values.count(record.get("is-referenced-by-count")),
        language=values.language(record.get("language")),
        retracted=notice is not None,
        notice=notice or "",
        same_as=(identifier,),
        provenance=(Provenance(source="crossref", source_id=doi, retrieved=day),),
    )


def _notice(record: dict[str, Any]) -> str | None:
    """DOI of the notice that retracts this record ("" if it has none); None: not retracted."""
    updates = record.get("updated-by")
    for update in updates if isinstance(updates, list) else ():
        if isinstance(update, dict) and values.raw(update.get("type")).lower() in _RETRACTING:
            return normalise_doi(values.raw(update.get("DOI")))
    return None


def _preprint(record: dict[str, Any]) -> str:
    relation = record.get("relation")
    links = relation.get("has-preprint") if isinstance(relation, dict) else None
    for link in links if isinstance(links, list) else ():
        found = arxiv_id(values.raw(link.get("id"))) if isinstance(link, dict) else ""
        if found:
            return found
    return ""


def _reference(item: dict[str, Any], day: str) -> Work | None:
    title = values.title(item.get("article-title") or item.get("volume-title"))
    if not title:
        return None
    doi = normalise_doi(values.raw(item.get("DOI")))
    family = values.text(item.get("author"), 300)
    identifier = f"crossref:{doi or title[:80]}"
    return Work(
        id=identifier,
        title=title,
        authors=(Author(family),) if family else (),
        year=values.year(item.get("year")),
        journal=values.text(item.get("journal-title")),
        doi=doi,
        url=f"https://doi.org/{doi}" if doi else "",
        same_as=(identifier,),
        provenance=(Provenance(source="crossref", source_id=doi, retrieved=day),),
    )


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value
