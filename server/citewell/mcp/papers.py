"""Papers in the form for agents: in the requested detail, each with the id of its record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from citewell.corpus.card import LibraryCoverage
from citewell.features.citing.completion import family_names
from citewell.model import Work
from citewell.model.venues import shown_venue
from citewell.sources.registry import titles_of_work

Detail = Literal["ids", "short", "full"]
MAX_ABSTRACT = 1500
MAX_TOKENS = 50_000
MAX_VENUES = 12
"""Number of venues in the short description of a library."""
LEAST = 0.05
"""Minimum probability that is shown."""
_json_of = json.JSONEncoder(ensure_ascii=False).encode


def paper_of(
    work: Work, detail: Detail = "short", *, key: str = "", reason: str = ""
) -> dict[str, Any]:
    """The record in the requested detail, without empty fields."""
    found: dict[str, Any] = {"id": work.id, "title": work.title, "year": work.year, "key": key}
    found["retracted"] = work.retracted
    if detail != "ids":
        found["authors"] = family_names(tuple(one.family or one.given for one in work.authors))
        found["venue"] = shown_venue(work.venue or work.booktitle or work.journal or work.publisher)
    if detail == "full":
        found |= {
            "authors": [author.display for author in work.authors],
            "doi": work.doi,
            "arxiv": work.arxiv,
            "url": "" if work.doi and work.doi in work.url.lower() else work.url,
            "citations": work.citations,
            "abstract": work.abstract[:MAX_ABSTRACT],
            "reason": reason,
            "sources": titles_of_work(work),
        }
    return {name: value for name, value in found.items() if value}


def library_of(coverage: LibraryCoverage) -> dict[str, Any]:
    """The coverage of a library in short, without empty fields."""
    found = {
        name: getattr(coverage, name) for name in ("name", "works", "created", "first", "last")
    }
    found["venues"] = [one.venue for one in coverage.venues[:MAX_VENUES]]
    return {name: value for name, value in found.items() if value}


def confidence_shown(confidence: float | None) -> dict[str, float]:
    """The `confidence` of an answer; empty if it is unknown or too low."""
    return probability("confidence", confidence)


def probability(name: str, value: float | None) -> dict[str, float]:
    """A probability under its name, in hundredths, from `LEAST` on: below, differences are random.
    None is shown as certain."""
    shown = min(0.99, round(value or 0.0, 2))
    return {name: shown} if shown >= LEAST else {}


def tokens_of(value: object) -> int:
    """Approximate number of a model's tokens for a value: a quarter of its JSON."""
    return len(_json_of(value)) // 4 + 1


def within(items: Sequence[Any], budget: int) -> int:
    """Number of the items that fit, at most `MAX_TOKENS`; the first always does."""
    spent, budget = 0, min(budget, MAX_TOKENS)
    for number, item in enumerate(items):
        spent += tokens_of(item)
        if spent > budget and number:
            return number
    return len(items)
