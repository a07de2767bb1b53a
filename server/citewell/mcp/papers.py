"""Papers as an agent gets them: as much as it asked for, each with the record it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from citewell.features.text.evidence import source_of
from citewell.model import Work

Detail = Literal["ids", "short", "full"]
MAX_ABSTRACT = 1500
MAX_TOKENS = 50_000
_AUTHORS = 3
_json_of = json.JSONEncoder(ensure_ascii=False).encode


class Ref(TypedDict):
    """A record. It has more fields than its schema, which every conversation pays for."""

    id: str
    source: str


class CitedRef(Ref):
    """A record for a place in a text."""

    title: str
    key: NotRequired[str]
    score: NotRequired[float]
    abstract_sentence: NotRequired[str]


class NeighbourRef(Ref):
    """A record beside another one."""

    title: str
    together: NotRequired[int]


class PaperRef(Ref):
    """A record in a list."""

    title: str
    year: NotRequired[int]
    authors: NotRequired[list[str]]
    venue: NotRequired[str]
    retracted: NotRequired[bool]


class RecordRef(Ref):
    """A whole record: with what `PaperRef` has."""

    title: str
    doi: NotRequired[str]
    abstract: NotRequired[str]
    text: NotRequired[str]


class Whole(CitedRef, NeighbourRef, PaperRef, RecordRef):
    """All that a record may have."""


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


def tokens_of(value: object) -> int:
    """About how many tokens a value costs a model: a quarter of its JSON."""
    return len(_json_of(value)) // 4 + 1


def within(items: Sequence[Any], budget: int) -> int:
    """How many of the items fit, of at most `MAX_TOKENS`; the first always does."""
    spent, budget = 0, min(budget, MAX_TOKENS)
    for number, item in enumerate(items):
        spent += tokens_of(item)
        if spent > budget and number:
            return number
    return len(items)
