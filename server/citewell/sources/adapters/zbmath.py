"""zbMATH Open: mathematics since 1868. https://api.zbmath.org"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    children,
    json_object,
    records,
)

_KINDS = {"j": "article", "a": "incollection", "b": "book", "p": "misc"}


class ZbMath(Source):
    """Articles, books and chapters of mathematics by DOI and title."""

    name = "zbmath"
    title = "zbMATH Open"
    gives = "mathematics: articles and books since 1868"
    sends = "DOIs; titles and first authors of references; search words"
    policy = SourcePolicy(
        base="https://api.zbmath.org/v1", hosts=("api.zbmath.org",), per_second=1.0, at_once=1
    )
    ids = frozenset({"doi"})
    can = frozenset({"match", "search"})
    fields = frozenset({"mathematics"})
    most_words = 4

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        answer = await self._query(f"doi:{values[0]}", 2)
        return [self.with_doi(answer, values[0])]

    async def _match(self, wanted: SourceQuery) -> Answer:
        text = f'ti:"{" ".join(bare_words(wanted.title))}"'
        if wanted.authors:
            text += f' & au:"{" ".join(bare_words(wanted.authors[0]))}"'
        return await self._query(text, MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        wanted = [f"any:{word}" for word in bare_words(text)]
        wanted += (*where.people('au:"{}"'), *where.years("py:{}-{}"))
        return await self._query(" & ".join(wanted), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("search_string", text), ("page", "0"), ("results_per_page", str(limit)))
        # "No results" is a 404.
        return await self.works(
            Ask(path="/document/_search", params=params, absent=True), decode_search
        )


def decode_search(body: bytes) -> list[Work]:
    """The records of `/document/_search`."""
    found = json_object(body)
    return [] if found.get("result", 0) is None else records(
        children(found, "result"), work_of_record
    )  # fmt: skip


def work_of_record(record: dict[str, Any], day: str) -> Work | str:
    """The work of one document, or the reason why it is none."""
    number = values.raw(record.get("id"))
    names = values.mapping(record.get("title"))
    title = values.title(names.get("title")).removesuffix(".")
    if not number:
        return "The record has no number."
    if not title:
        return "The record has no title."
    if subtitle := values.title(names.get("subtitle")):
        title = f"{title}: {subtitle}"
    source = values.mapping(record.get("source"))
    series, book = (
        values.first_mapping(source.get("series")),
        values.first_mapping(source.get("book")),
    )
    kind = _KINDS.get(values.raw(values.mapping(record.get("document_type")).get("code")), "misc")
    place = values.text(series.get("title"))
    doi, arxiv = _links(record.get("links"))
    identifier = f"zbmath:{number}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(values.mapping(record.get("contributors")).get("authors")),
        year=values.year(record.get("year")),
        kind=kind,
        journal=place if kind == "article" else "",
        booktitle=values.text(book.get("title")) or place if kind == "incollection" else "",
        volume=values.text(series.get("volume"), 60),
        issue=values.text(series.get("issue"), 60),
        pages=values.pages(source.get("pages")),
        publisher=values.text((book or series).get("publisher")) if kind != "article" else "",
        doi=doi,
        arxiv=arxiv,
        url=f"https://zbmath.org/{number}",
        language=values.language(values.mapping(record.get("language")).get("languages")),
        same_as=(identifier,),
        provenance=(Provenance(source="zbmath", source_id=number, retrieved=day),),
    )


def _links(value: object) -> tuple[str, str]:
    """DOI and arXiv id of the links."""
    doi = arxiv = ""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and item.get("type") == "doi":
            doi = doi or normalise_doi(values.raw(item.get("identifier")))
        elif isinstance(item, dict) and item.get("type") == "arxiv":
            arxiv = arxiv or arxiv_id(f"arXiv:{values.raw(item.get('identifier'))}")
    return doi, arxiv


def _authors(value: object) -> tuple[Author, ...]:
    """The authors, from "Family, Given"."""
    found = (
        parse_author(values.text(item.get("name"), 300))
        for item in (value[: values.MAX_AUTHORS] if isinstance(value, list) else ())
        if isinstance(item, dict)
    )
    return tuple(author for author in found if author.family)
