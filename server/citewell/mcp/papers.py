"""Papers as an agent gets them: as much as it asked for, each with the record it came from."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from citewell.model import CitewellError, Hit, Problem, Work

Detail = Literal["ids", "short", "full"]
MAX_ABSTRACT = 1500
MAX_TOKENS = 50_000
_AUTHORS = 3


class Ref(TypedDict):
    """What names a record. More stands in it than the schema tells: that costs in each talk."""

    id: str
    source: str


class Cited(Ref):
    """A record for a place in a text."""

    title: str
    key: NotRequired[str]


class Neighbour(Ref):
    """A record beside another one."""

    title: str
    together: NotRequired[int]


class Paper(Ref):
    """A record in a list."""

    title: str
    year: NotRequired[int]
    authors: NotRequired[list[str]]
    venue: NotRequired[str]
    retracted: NotRequired[bool]


class Record(Ref):
    """A whole record: with what `Paper` has."""

    title: str
    doi: NotRequired[str]
    abstract: NotRequired[str]
    text: NotRequired[str]


class Whole(Cited, Neighbour, Paper, Record):
    """All that a record may have."""


def source_of(work: Work) -> str:
    """The records that a work was read from: "acl-anthology:2020.acl-main.1"."""
    names = [
        f"{origin.source}:{origin.source_id}" if origin.source_id else origin.source
        for origin in work.provenance
    ]
    return "; ".join(dict.fromkeys(names)) or work.id


def paper_of(work: Work, detail: Detail = "short", *, key: str = "", why: str = "") -> Whole:
    """The record in the detail that is wanted; what it lacks is left out."""
    found: dict[str, Any] = {"id": work.id, "source": source_of(work), "title": work.title}
    found["year"] = work.year
    found["key"] = key
    found["retracted"] = work.retracted
    if detail != "ids":
        names = [author.display for author in work.authors]
        many = detail == "short" and len(names) > _AUTHORS
        found["authors"] = [*names[:_AUTHORS], "et al."] if many else names
        found["venue"] = work.venue or work.booktitle or work.journal or work.publisher
    if detail == "full":
        found |= {
            "doi": work.doi,
            "arxiv": work.arxiv,
            "url": work.url,
            "citations": work.citations,
            "abstract": work.abstract[:MAX_ABSTRACT],
            "why": why,
        }
    return {name: value for name, value in found.items() if value}  # type: ignore[return-value]


def why_of(hit: Hit) -> str:
    """Which retrievers found the paper, and by which words."""
    parts = []
    for evidence in hit.evidence:
        words = f" ({', '.join(evidence.terms[:4])})" if evidence.terms else ""
        parts.append(f"{evidence.retriever} #{evidence.rank}{words}")
    return ", ".join(parts)


def tokens_of(value: object) -> int:
    """About how many tokens a value costs a model: a quarter of its JSON."""
    return len(json.dumps(value, ensure_ascii=False)) // 4 + 1


def within(items: Sequence[Any], budget: int) -> int:
    """How many of the items fit, of at most `MAX_TOKENS`; the first always does."""
    spent, budget = 0, min(budget, MAX_TOKENS)
    for number, item in enumerate(items):
        spent += tokens_of(item)
        if spent > budget and number:
            return number
    return len(items)


def digest(*parts: object) -> str:
    """A short name of a request, so that a cursor cannot be used with another one."""
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def to_cursor(name: str, offset: int) -> str:
    """Where the next page of a request begins."""
    return base64.urlsafe_b64encode(f"{name}:{offset}".encode()).decode().rstrip("=")


def from_cursor(cursor: str, name: str | None = None) -> tuple[str, int]:
    """The request and the offset. Raises `CitewellError` for what is no cursor of this request."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        of, _, number = text.partition(":")
        offset = int(number)
    except (ValueError, binascii.Error, UnicodeDecodeError):
        of, offset = "", -1
    if offset < 0 or not of or (name is not None and of != name):
        raise CitewellError(
            Problem(
                "mcp-cursor",
                "The cursor does not belong to this request.",
                "Repeat the request with the same arguments and without a cursor.",
            )
        )
    return of, offset
