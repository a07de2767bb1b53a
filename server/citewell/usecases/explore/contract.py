"""What a literature search asks for and what it gives back."""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model import Problem, Work
from citewell.model.overview import Overview
from citewell.model.query import Understood

PassName = Literal[
    "search", "reading", "references", "papers", "aspects", "citations", "sources",
    "chains",
]  # fmt: skip
"""`search`: the words. `reading`: the words as the language model understands them, where the rules
agree. `references`: again, with the best papers as references of the paper being
written. `papers`: the best papers as queries. `aspects`: queries for methods, applications and
limitations, in the best papers' own words. `citations`: what they cite, what cites them, and
what is cited with them. `sources`: what the allowed sources of
the field answered. `chains`: what the best papers cite and what cites them, by a source."""
Order = Literal["auto", "relevance", "recent", "cited"]
"""What decides within a band of about equally relevant papers; `auto`: what the words ask for."""
Ending = Literal["", "complete", "little"]
"""Empty while there are passes to come; `little`: the last pass brought little."""

MAX_TEXT = 2_000
"""Characters of the words that are searched for."""
MAX_COUNT = 400
MAX_ROUNDS = 3


class ExploreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One literature search."""

    text: str = ""
    author: str = ""
    venue: str = ""
    year_from: int | None = None
    year_to: int | None = None
    kept: tuple[str, ...] = ()
    """Ids of papers that answer the question: they count as references, and come first."""
    rejected: tuple[str, ...] = ()
    """Ids of papers that do not: neither they nor other editions of them are listed."""
    count: int = 200
    """Papers in the list, `MAX_COUNT` at most."""
    rounds: int = 0
    """How often the passes after the first are made, `MAX_ROUNDS` at most, and at least once with
    `kept`; later ones start from papers that the earlier ones found."""
    order: Order = "auto"
    online: bool = False
    """Whether to list what the allowed sources answer, where the engine asks them."""
    model: bool = True
    """Whether the language model takes part, where one is configured for literature searches."""
    overview: bool = False
    """Whether the last list comes with an overview."""
    without: frozenset[str] = frozenset()
    """Names of passes to leave out, or "judge" for the judgement, to measure what they give."""


class ListingReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a paper is in the list, or stands where it does."""

    step: str
    """Name of the pass; "kept" for a paper of the request, "order" for its place in its band."""
    query: str
    """The query of that pass, in words."""
    rank: int = 0
    """1-based rank in the answer; 0 where there is none."""
    detail: str = ""
    """What matched: "bm25 #4 (graph)"."""
    text: str = ""
    """`detail` in words for people: "its title has graph"."""


class ExploredWork(msgspec.Struct, frozen=True, omit_defaults=True):
    """One work of the list."""

    work: Work
    reasons: tuple[ListingReason, ...] = ()
    """In the order of the passes."""
    editions: tuple[Work, ...] = ()
    """Other records of the same work, such as its preprint."""
    relevance: float | None = None
    """Probability that it answers the question, by all passes so far; None where the papers are
    not judged, and for a paper that fails a condition of the words."""


class Pass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The queries of one pass, and what it changed."""

    name: PassName
    round: int = 1
    queries: tuple[str, ...] = ()
    """In words."""
    found: int = 0
    """Papers in its answers, each once."""
    added: int = 0
    """Papers of the list that were not in it before."""
    entered: int = 0
    """Papers among the first 50 that were not there before."""
    cut: int = 0
    """Papers that were found so far and are not in the list: beyond its end, rejected, or outside
    the filters."""
    milliseconds: float = 0.0


class Exploration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list after a pass, best first."""

    papers: tuple[ExploredWork, ...] = ()
    passes: tuple[Pass, ...] = ()
    understood: Understood = Understood()
    """What was understood of the words."""
    ending: Ending = ""
    snapshot: str = ""
    """Of the library that was searched."""
    problems: tuple[Problem, ...] = ()
    relevant: int | None = None
    """Number of papers at the head judged relevant, kept ones included; the others
    fall below the cut. None where the papers are not judged: without words to search for, with
    the name of an author, and without the trained ranker."""
    overview: Overview | None = None
    """Of the last list, where it was asked for."""
