"""OpenAlex: an open catalogue of a quarter of a billion works. https://docs.openalex.org"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from citewell.model import Work
from citewell.sources.contract import (
    MATCHES,
    Answer,
    Ask,
    Conditions,
    Failed,
    Matched,
    NoMatch,
    Source,
    SourcePolicy,
    SourceQuery,
    children,
    json_object,
    records,
)
from citewell.sources.values import work_of_openalex

_SELECT = (
    "id,doi,title,display_name,publication_year,type,authorships,primary_location,locations,"
    "biblio,cited_by_count,keywords,is_retracted,is_paratext"
)
_SYNTAX = re.compile(r"[^\w\s-]+")
"""Commas, bars and colons separate filters; punctuation does not distinguish titles."""


class OpenAlex(Source):
    """Records by DOI, fifty at a time; matching by title; search; citations both ways."""

    name = "openalex"
    title = "OpenAlex"
    gives = "works of every field, citations both ways, retraction marks"
    sends = "DOIs and arXiv ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://api.openalex.org",
        hosts=("api.openalex.org",),
        per_second=5.0,
        at_once=2,
        key_variables=("OPENALEX_API_KEY",),
        key_parameter="api_key",
        contact_parameter="mailto",
        max_bytes=16_000_000,
    )
    ids = frozenset({"doi", "arxiv"})
    can = frozenset({"match", "search", "references", "citations"})
    batch = 50

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        dois = [_doi(kind, value) for value in values]
        usable = [doi for doi in dois if "," not in doi and "|" not in doi]
        if len(values) == 1:
            ask = Ask(
                path=f"/works/doi:{quote(dois[0], safe='/')}",
                params=(("select", _SELECT),),
                absent=True,
            )
            return [await self.works(ask, decode_work)]
        answer = await self._filtered(f"doi:{'|'.join(usable)}", self.batch) if usable else None
        if isinstance(answer, Failed):
            return [answer] * len(values)
        works = answer.works if isinstance(answer, Matched) else ()
        known: dict[str, list[Work]] = {}
        for work in works:
            known.setdefault(work.doi, []).append(work)
        return [
            Matched(self.name, tuple(known[doi])) if doi in known
            else NoMatch(self.name) if doi in usable
            else self.unable("cannot be asked for this DOI")
            for doi in dois
        ]  # fmt: skip

    async def _match(self, wanted: SourceQuery) -> Answer:
        return await self._filtered(f"title.search:{_plain(wanted.title)}", MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        filters = ",".join(
            (*where.people("raw_author_name.search:{}"), *where.years("publication_year:{}-{}"))
        )
        params = (
            ("search", _plain(text)),
            *((("filter", filters),) if filters else ()),
            ("per_page", str(limit)),
            ("select", _SELECT),
        )
        return await self.works(Ask(path="/works", params=params), decode_list)

    async def _references(self, kind: str, value: str, limit: int) -> Answer:
        return await self._linked("cited_by", kind, value, limit)

    async def _citations(self, kind: str, value: str, limit: int) -> Answer:
        return await self._linked("cites", kind, value, limit)

    async def _linked(self, filter: str, kind: str, value: str, limit: int) -> Answer:
        answer = await self.by_id(kind, value)
        if not isinstance(answer, Matched):
            return answer
        identity = answer.works[0].provenance[0].source_id
        return await self._filtered(f"{filter}:{identity}", min(limit, 100))

    async def _filtered(self, filter: str, limit: int) -> Answer:
        params = (("filter", filter), ("per_page", str(limit)), ("select", _SELECT))
        return await self.works(Ask(path="/works", params=params), decode_list)


def decode_work(body: bytes) -> list[Work]:
    """The record of `/works/{id}`."""
    return records([json_object(body)], work_of_openalex)


def decode_list(body: bytes) -> list[Work]:
    """The records of `/works`, without paratext."""
    listed = [item for item in children(json_object(body), "results") if _is_paper(item)]
    return records(listed, work_of_openalex)


def _is_paper(item: dict[str, Any]) -> bool:
    return not item.get("is_paratext")


def _doi(kind: str, value: str) -> str:
    return f"10.48550/arxiv.{value}" if kind == "arxiv" else value


def _plain(text: str) -> str:
    return " ".join(_SYNTAX.sub(" ", text).split())
