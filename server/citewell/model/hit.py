"""What a search gives back: works, each with the evidence that found it."""

from __future__ import annotations

import msgspec

from citewell.model.problem import Problem
from citewell.model.query import TypedQuery, Understood
from citewell.model.work import Work

FILTERS = "filters"
"""The retriever in the evidence of papers that pass filters, where no words are searched for."""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why one retriever or ranker proposes a work."""

    retriever: str
    """Its name: "bm25", "dense", "bib"."""
    rank: int
    """1-based rank in that retriever's own list."""
    score: float
    """That retriever's own score; comparable only within one list."""
    fields: tuple[str, ...] = ()
    """Fields of the work that matched: "title", "abstract", "authors", "year", "key"."""
    terms: tuple[str, ...] = ()
    """The query's words that matched, strongest first."""
    before: int | None = None
    """Of a ranker that moves papers: the 1-based rank that the work had before."""
    snippet: str = ""
    """The sentence of the full text that matched best."""
    page: int | None = None
    """1-based page of the snippet."""
    beside: int = 0
    """How many of the citing paper's references others cite together with the work."""


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One proposed work. `score` orders its list and has no meaning outside it."""

    work: Work
    score: float
    evidence: tuple[Evidence, ...] = ()
    key: str = ""
    """The key under which the project's .bib already holds this work; empty when it does not."""
    confidence: float | None = None
    """Calibrated probability in [0, 1] that an author would cite this work here, if known."""


NO_FAILURE = frozenset({"filter-empty", "identifier-unknown", "not-held"})
"""Codes of problems of a search that was made, and for a reason of its own found nothing."""


class SearchResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ranked hits, what was left out, and what it cost."""

    hits: tuple[Hit, ...] = ()
    dropped: tuple[Problem, ...] = ()
    """Retrievers that failed or were late; the rest of the result stands without them."""
    problems: tuple[Problem, ...] = ()
    """Problems that left the result empty or incomplete, with hints."""

    @property
    def failed(self) -> tuple[Problem, ...]:
        """The problems for which no search could be made; the others say why it found nothing."""
        return tuple(one for one in self.problems if one.code not in NO_FAILURE)

    timings: dict[str, float] = msgspec.field(default_factory=dict)
    """Milliseconds per stage."""
    understood: Understood = Understood()
    """What was understood of the typed words, for front ends to show."""
    conditions: TypedQuery = TypedQuery()
    """The conditions of the typed words as the search applied them: the years beside a stated one
    count too where it may be a word of a title."""
    queries: tuple[str, ...] = ()
    """Texts that were searched for beside the query's own: by rules, or by the language model."""
    variant: str = ""
    """What made the order, such as "learned" or "fusion"; empty where nothing was ordered."""
