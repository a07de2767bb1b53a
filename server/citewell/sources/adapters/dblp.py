"""DBLP, the bibliography of computer science. https://dblp.org/faq/13501473.html"""

from __future__ import annotations

import re
from typing import Any

from citewell.model import Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values
from citewell.sources.contract import (
    Answer,
    Ask,
    NonsenseError,
    Source,
    SourcePolicy,
    bare_words,
    child,
    children,
    json_object,
    records,
)

_KINDS = {
    "Journal Articles": "article",
    "Conference and Workshop Papers": "inproceedings",
    "Parts in Books or Collections": "incollection",
    "Books and Theses": "book",
}
_HOMONYM = re.compile(r"\s+\d{4}$")


class Dblp(Source):
    """Matching by title, and search, in computer science."""

    name = "dblp"
    title = "DBLP"
    gives = "computer science: curated author lists, venues and pages"
    sends = "titles of references; search words"
    policy = SourcePolicy(
        base="https://dblp.org", hosts=("dblp.org", "dblp.uni-trier.de"), per_second=0.7, at_once=1
    )
    can = frozenset({"match", "search"})
    fields = frozenset({"computing"})
    most_words = 3

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("q", " ".join(bare_words(text))), ("format", "json"), ("h", str(limit)))
        return await self.works(Ask(path="/search/publ/api", params=params), decode_hits)


def decode_hits(body: bytes) -> list[Work]:
    """The publications of a search; one without hits has a count of 0 and no list."""
    hits = child(child(json_object(body), "result"), "hits")
    if "hit" not in hits:
        if str(hits.get("@total", "")) != "0":
            raise NonsenseError("the body has no hits and does not say that there are none")
        return []
    return records(children(hits, "hit"), work_of_hit)


def work_of_hit(hit: dict[str, Any], day: str) -> Work | str:
    """The work of one hit, or the reason why it is none."""
    info = hit.get("info")
    if not isinstance(info, dict):
        return "The hit has no record."
    key = values.raw(info.get("key"))
    title = values.title(info.get("title")).removesuffix(".")
    if not key:
        return "The record has no key."
    if not title:
        return "The record has no title."
    venue = _one(info.get("venue"))
    informal = values.raw(info.get("type")).startswith("Informal") or venue == "CoRR"
    kind = "misc" if informal else _KINDS.get(values.raw(info.get("type")), "misc")
    doi = normalise_doi(values.raw(info.get("doi"))) or normalise_doi(_one(info.get("ee")))
    arxiv = arxiv_id(doi) or arxiv_id(_one(info.get("ee")))
    if not arxiv and informal:
        arxiv = arxiv_id(values.raw(info.get("volume")).removeprefix("abs/"))
    identifier = f"dblp:{key}"
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(_names(info.get("authors"))),
        year=values.year(info.get("year")),
        kind=kind,
        venue="arXiv" if informal else venue,
        journal=venue if kind == "article" else "",
        volume="" if informal else values.text(info.get("volume"), 60),
        issue=values.text(info.get("number"), 60),
        pages=values.pages(info.get("pages")),
        publisher=values.text(info.get("publisher")),
        doi=doi,
        arxiv=arxiv,
        url=_one(info.get("ee")) or values.raw(info.get("url")),
        bibkey=f"DBLP:{key}",
        retracted=values.raw(info.get("type")) == "Withdrawn Items",
        same_as=(identifier,),
        provenance=(Provenance(source="dblp", source_id=key, retrieved=day),),
    )


def _names(value: object) -> list[str]:
    """The names of the authors: one author is an object, several are a list; homonyms have a
    number."""
    listed = value.get("author") if isinstance(value, dict) else None
    people = listed if isinstance(listed, list) else [listed]
    names = [person.get("text") if isinstance(person, dict) else person for person in people]
    return [_HOMONYM.sub("", name) for name in names if isinstance(name, str)]


def _one(value: object) -> str:
    """The first text of a field that may be a list."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return values.raw(value)
