"""PubMed through NCBI's E-utilities. https://www.ncbi.nlm.nih.gov/books/NBK25501"""

from __future__ import annotations

import re
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
    Failed,
    NoMatch,
    NonsenseError,
    Source,
    SourcePolicy,
    SourceQuery,
    bare_words,
    child,
    json_object,
    records,
)

_INITIALS = re.compile(r"\s+(?P<initials>[A-Z]{1,4})$")


class PubMed(Source):
    """Biomedical papers by PubMed id, DOI and title; retractions."""

    name = "pubmed"
    title = "PubMed"
    gives = "biomedicine, with retractions and the notices of them"
    sends = "DOIs, PubMed ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
        hosts=("eutils.ncbi.nlm.nih.gov",),
        per_second=2.5,
        per_second_with_key=8.0,
        at_once=2,
        key_variables=("NCBI_API_KEY",),
        key_parameter="api_key",
        contact_parameter="email",
    )
    ids = frozenset({"pmid", "doi"})
    can = frozenset({"match", "search"})
    fields = frozenset({"biomedicine"})
    most_words = 4
    batch = 1

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        if kind == "pmid":
            return [await self._summaries(list(values))]
        # A text that PubMed does not recognise as a DOI is searched as words.
        return [self.with_doi(await self._query(f"{values[0]}[doi]", 2), values[0])]

    async def _match(self, wanted: SourceQuery) -> Answer:
        words = " ".join(bare_words(wanted.title))
        return await self._query(f"{words}[title]", MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        filters = (*where.people("{}[au]"), *where.years("{}:{}[dp]"))
        return await self._query(" AND ".join((" ".join(bare_words(text)), *filters)), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("db", "pubmed"), ("retmode", "json"), ("retmax", str(limit)), ("term", text))
        got = await self._fetch(
            type(self), Ask(path="/esearch.fcgi", params=params), decode_numbers
        )
        if isinstance(got, Failed | NoMatch):
            return got
        return await self._summaries(got) if got else NoMatch(self.name)

    async def _summaries(self, numbers: list[str]) -> Answer:
        params = (("db", "pubmed"), ("retmode", "json"), ("id", ",".join(numbers)))
        return await self.works(Ask(path="/esummary.fcgi", params=params), decode_summaries)


def decode_numbers(body: bytes) -> list[str]:
    """The PubMed ids found by a search."""
    found = child(json_object(body), "esearchresult")
    listed = found.get("idlist")
    if not isinstance(listed, list):
        raise NonsenseError("the body has no list of ids")
    return [number for item in listed if (number := values.raw(item)).isdigit()]


def decode_summaries(body: bytes) -> list[Work]:
    """The records of `esummary`; an id without a record is an entry with an error."""
    result = child(json_object(body), "result")
    uids = result.get("uids")
    if not isinstance(uids, list):
        raise NonsenseError("the body has no list of records")
    items = [result[uid] for uid in uids if isinstance(result.get(uid), dict)]
    return records([item for item in items if "error" not in item], work_of_summary)


def work_of_summary(record: dict[str, Any], day: str) -> Work | str:
    """The work of one summary, or the reason why it is none."""
    identity = values.raw(record.get("uid"))
    title = values.title(record.get("title")).removesuffix(".")
    if not identity:
        return "The record has no id."
    if not title:
        return "The record has no title."
    types = record.get("pubtype")
    retracted = isinstance(types, list) and "Retracted Publication" in types
    doi = _doi(record.get("articleids"))
    identifier = f"pubmed:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(record.get("authors")),
        year=values.year(record.get("pubdate")),
        kind="article",
        venue=values.text(record.get("source"), 200),
        journal=values.text(record.get("fulljournalname")),
        volume=values.text(record.get("volume"), 60),
        issue=values.text(record.get("issue"), 60),
        pages=values.pages(record.get("pages")),
        doi=doi,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{identity}/",
        language=values.language(record.get("lang")),
        retracted=retracted,
        notice=_notice(record.get("references")) if retracted else "",
        same_as=(identifier,),
        provenance=(Provenance(source="pubmed", source_id=identity, retrieved=day),),
    )


def _doi(value: object) -> str:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and item.get("idtype") == "doi":
            return normalise_doi(values.raw(item.get("value")))
    return ""


def _notice(value: object) -> str:
    """The notice's DOI if its reference has one, else its address in PubMed."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and "retraction in" in values.raw(item.get("reftype")).lower():
            doi = normalise_doi(values.raw(item.get("refsource")))
            number = values.raw(item.get("pmid"))
            address = f"https://pubmed.ncbi.nlm.nih.gov/{number}/" if number.isdigit() else ""
            return doi or address
    return ""


def _authors(value: object) -> tuple[Author, ...]:
    """The authors, from "Family AB"; collectives stay as they are."""
    authors = []
    for item in value[: values.MAX_AUTHORS] if isinstance(value, list) else ():
        name = values.text(item.get("name"), 300) if isinstance(item, dict) else ""
        found = _INITIALS.search(name)
        if found is None or (isinstance(item, dict) and item.get("authtype") == "CollectiveName"):
            authors.append(Author(family=name))
        else:
            given = " ".join(f"{letter}." for letter in found["initials"])
            authors.append(Author(family=name[: found.start()], given=given))
    return tuple(author for author in authors if author.family)
