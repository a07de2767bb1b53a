"""Papers as an agent gets them: as much as it asked for, each with the record it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from citewell.features.text.evidence import source_of
from citewell.model import Work

Detail = Literal["ids", "short", "full"]
MAX_ABSTRACT = 1500
MAX_TOKENS = 50_000
_AUTHORS = 3
_json_of = json.JSONEncoder(ensure_ascii=False).encode


def paper_of(
    work: Work, detail: Detail = "short", *, key: str = "", why: str = ""
) -> dict[str, Any]:
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
    return {name: value for name, value in found.items() if value}


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
