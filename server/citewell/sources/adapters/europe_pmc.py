"""Europe PMC: the life sciences, with preprints. https://europepmc.org/RestfulWebService"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import normalise_doi
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


class EuropePmc(Source):
    """Papers, preprints and book chapters by DOI, PubMed id and title; retractions."""

    name = "europe-pmc"
    title = "Europe PMC"
    gives = "life sciences, with abstracts, preprints and retractions"
    sends = "DOIs, PubMed ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://www.ebi.ac.uk/europepmc/webservices/rest",
        hosts=("www.ebi.ac.uk",),
        per_second=5.0,
        at_once=2,
        contact_parameter="email",
    )
    ids = frozenset({"doi", "pmid"})
    can = frozenset({"match", "search"})
    fields = frozenset({"biomedicine"})
    most_words = 4

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        query = f"EXT_ID:{values[0]} AND SRC:MED" if kind == "pmid" else f'DOI:"{values[0]}"'
        answer = await self._query(query, 2)
        return [answer if kind == "pmid" else self.with_doi(answer, values[0])]

    async def _match(self, wanted: SourceQuery) -> Answer:
        return await self._query(f'TITLE:"{" ".join(bare_words(wanted.title))}"', MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        # Its fields and operators are words in capitals and colons: both are removed.
        filters = (*where.people('AUTH:"{}"'), *where.years("PUB_YEAR:[{} TO {}]"))
        words = " ".join(bare_words(text.lower()))
        return await self._query(" AND ".join((words, *filters)), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (
            ("query", text), ("format", "json"), ("resultType", "core"), ("pageSize", str(limit)),
        )  # fmt: skip
        return await self.works(Ask(path="/search", params=params), decode_search)


def decode_search(body: bytes) -> list[Work]:
    """The records of `/search`."""
    return records(children(child(json_object(body), "resultList"), "result"), work_of_record)


def work_of_record(record: dict[str, Any], day: str) -> Work | str:
    """The work of one record, or the reason why it is none."""
    identity = f"{values.raw(record.get('source'))}/{values.raw(record.get('id'))}"
    title = values.title(record.get("title")).removesuffix(".")
    if identity.startswith("/") or identity.endswith("/"):
        return "The record has no id."
    if not title:
        return "The record has no title."
    issue = values.mapping(record.get("journalInfo"))
    journal = values.text(values.mapping(issue.get("journal")).get("title"))
    types = values.mapping(record.get("pubTypeList")).get("pubType")
    kinds = {values.raw(one).lower() for one in types} if isinstance(types, list) else set()
    notices = values.mapping(record.get("commentCorrectionList")).get("commentCorrection")
    retracted = "retracted publication" in kinds
    identifier = f"europe-pmc:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(values.mapping(record.get("authorList")).get("author")),
        year=values.year(record.get("pubYear")),
        kind="misc" if "preprint" in kinds else "article" if journal else "misc",
        journal=journal,
        volume=values.text(issue.get("volume"), 60),
        issue=values.text(issue.get("issue"), 60),
        pages=values.pages(record.get("pageInfo")),
        doi=normalise_doi(values.raw(record.get("doi"))),
        url=f"https://europepmc.org/article/{identity}",
        abstract=values.abstract(record.get("abstractText")),
        citations=values.count(record.get("citedByCount")),
        language=values.language(record.get("language")),
        retracted=retracted,
        notice=_notice(notices) if retracted else "",
        same_as=(identifier,),
        provenance=(Provenance(source="europe-pmc", source_id=identity, retrieved=day),),
    )


def _notice(value: object) -> str:
    """The page of the retraction notice, if its reference names one."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and "retraction in" in values.raw(item.get("type")).lower():
            source, number = values.raw(item.get("source")), values.raw(item.get("id"))
            if source.isalnum() and number.isalnum():
                return f"https://europepmc.org/article/{source}/{number}"
    return ""


def _authors(value: object) -> tuple[Author, ...]:
    authors = []
    for item in value[: values.MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        if group := values.text(item.get("collectiveName"), 300):
            authors.append(Author(family=group))
        elif family := values.text(item.get("lastName"), 300):
            given = values.text(item.get("firstName") or item.get("initials"), 300)
            authors.append(Author(family=family, given=given))
    return tuple(authors)
