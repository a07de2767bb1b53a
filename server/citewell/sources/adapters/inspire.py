"""INSPIRE: high-energy physics and its neighbours. https://github.com/inspirehep/rest-api-doc"""

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
    "article": "article",
    "conference paper": "inproceedings",
    "book": "book",
    "book chapter": "incollection",
    "proceedings": "proceedings",
    "thesis": "phdthesis",
    "report": "techreport",
}
_FIELDS = (
    "titles,authors.full_name,author_count,collaborations,publication_info,dois,arxiv_eprints,"
    "citation_count,document_type,earliest_date,texkeys,imprints,control_number,abstracts"
)
MANY = 100
"""Number of authors from which a paper is cited by its collaboration, as in INSPIRE's own
entries."""


class Inspire(Source):
    """Papers by DOI, arXiv id and title, with the collaborations that wrote them."""

    name = "inspire"
    title = "INSPIRE"
    gives = "high-energy physics: preprints with their papers, collaborations, citation keys"
    sends = "DOIs, arXiv ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://inspirehep.net/api",
        hosts=("inspirehep.net",),
        # It allows 15 requests in five seconds.
        per_second=2.5,
        at_once=2,
        # Some papers have 5,000 authors.
        max_bytes=8_000_000,
    )
    ids = frozenset({"doi", "arxiv"})
    can = frozenset({"match", "search"})
    fields = frozenset({"physics"})
    most_words = 4

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        path = f"/{kind}/{quote(values[0], safe='/')}"
        return [await self.works(Ask(path=path, absent=True), decode_record)]

    async def _match(self, wanted: SourceQuery) -> Answer:
        return await self._query(f't "{" ".join(bare_words(wanted.title))}"', MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        filters = (*where.people("a {}"), *where.years("date {}->{}"))
        return await self._query(" and ".join((*bare_words(text)[:12], *filters)), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("q", text), ("size", str(limit)), ("fields", _FIELDS))
        return await self.works(Ask(path="/literature", params=params), decode_search)


def decode_record(body: bytes) -> list[Work]:
    """The record of `/doi/{doi}` and `/arxiv/{id}`."""
    return records([json_object(body)], work_of_record)


def decode_search(body: bytes) -> list[Work]:
    """The records of `/literature`."""
    return records(children(child(json_object(body), "hits"), "hits"), work_of_record)


def work_of_record(record: dict[str, Any], day: str) -> Work | str:
    """The work of one record, or the reason why it is none."""
    facts = values.mapping(record.get("metadata"))
    number = values.raw(facts.get("control_number") or record.get("id"))
    title = values.title(values.first_mapping(facts.get("titles")).get("title"))
    if not number:
        return "The record has no number."
    if not title:
        return "The record has no title."
    places = facts.get("publication_info")
    places = [one for one in places if isinstance(one, dict)] if isinstance(places, list) else []
    place = next((one for one in places if one.get("journal_title")), places[0] if places else {})
    types = facts.get("document_type")
    kind = _KINDS.get(values.raw(types[0]) if isinstance(types, list) and types else "", "misc")
    journal = values.text(place.get("journal_title"))
    begin, end = values.raw(place.get("page_start")), values.raw(place.get("page_end"))
    pages = f"{begin}-{end}" if begin and end else begin or values.raw(place.get("artid"))
    imprint = values.first_mapping(facts.get("imprints"))
    authors, others = _authors(facts)
    identifier = f"inspire:{number}"
    return Work(
        id=identifier,
        title=title,
        authors=authors,
        others=others,
        year=values.year(place.get("year"))
        or values.year(imprint.get("date"))
        or values.year(facts.get("earliest_date")),
        kind="misc" if kind == "article" and not journal else kind,
        journal=journal,
        volume=values.text(place.get("journal_volume"), 60),
        issue=values.text(place.get("journal_issue"), 60),
        pages=values.pages(pages),
        publisher=values.text(imprint.get("publisher")),
        doi=normalise_doi(values.raw(values.first_mapping(facts.get("dois")).get("value"))),
        arxiv=arxiv_id(values.raw(values.first_mapping(facts.get("arxiv_eprints")).get("value"))),
        url=f"https://inspirehep.net/literature/{number}",
        bibkey=_key(facts.get("texkeys")),
        abstract=values.abstract(values.first_mapping(facts.get("abstracts")).get("value")),
        citations=values.count(facts.get("citation_count")),
        same_as=(identifier,),
        provenance=(Provenance(source="inspire", source_id=number, retrieved=day),),
    )


def _key(value: object) -> str:
    """The key of INSPIRE's own entries, such as "Aad:2012tfa"."""
    return values.raw(value[0], 60) if isinstance(value, list) and value else ""


def _authors(facts: dict[str, Any]) -> tuple[tuple[Author, ...], bool]:
    """The authors, and whether more follow: a list of hundreds is that of a collaboration."""
    people = facts.get("authors")
    names = [one.get("full_name") for one in people if isinstance(one, dict)] if people else []
    teams = facts.get("collaborations")
    groups = [
        Author(family=f"{team} Collaboration")
        for one in (teams if isinstance(teams, list) else ())
        if (team := values.text(values.mapping(one).get("value"), 200))
    ]
    total = values.count(facts.get("author_count")) or len(names)
    if groups and (total > MANY or not names):
        return tuple(groups), bool(names)
    parsed = (parse_author(values.text(name, 300)) for name in names[: values.MAX_AUTHORS])
    authors = tuple(author for author in parsed if author.family)
    return authors, total > len(names)
