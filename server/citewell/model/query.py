"""The question that an author's passage asks, the input of every retriever, and the answer: works,
each with the evidence that found it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model.problem import Problem
from citewell.model.work import Work

# What typed words ask for: topic, authors, venues, years and the like, and where each part
# stands.
#
# `retrieval.query_grammar` reads it; front ends show the parts, and an author takes one away by
# deleting its characters or by putting a plus sign before them ("+nature" is a word).

PartKind = Literal[
    "author", "venue", "year", "phrase", "excluded", "kind", "language", "recency", "citations",
    "cites", "cited_by", "like",
]  # fmt: skip
Recency = Literal["", "recent", "early"]


class TypedQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of typed words, by what they ask for."""

    topic: str = ""
    """The words that no other part takes."""
    phrases: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    """Words and phrases that a paper must not hold."""
    authors: tuple[str, ...] = ()
    """Names as they are typed, each of an author with papers in the library."""
    venues: tuple[str, ...] = ()
    """Short names, such as "NeurIPS"."""
    kinds: tuple[str, ...] = ()
    """Of "survey", "dataset" and "benchmark"."""
    year_from: int | None = None
    year_to: int | None = None
    min_citations: int | None = None
    recency: Recency = ""
    influential: bool = False
    cites: tuple[str, ...] = ()
    """Ids of works that a paper should cite."""
    cited_by: tuple[str, ...] = ()
    """Ids of works by which a paper should be cited."""
    like: tuple[str, ...] = ()
    """Ids of works that a paper should be cited together with."""


class QueryPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the words as they were typed: `text[start:end]`."""

    start: int
    end: int
    kind: PartKind
    value: str
    """How it was understood: "NeurIPS", "2015-2018", "-survey"."""


class Understood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was understood of the typed words; empty where they are words alone."""

    query: TypedQuery = TypedQuery()
    parts: tuple[QueryPart, ...] = ()
    """In the order of the text; none overlaps another."""


MARK = "[CITATION]"
"""Marks the place of the citation in `Query.sentence`."""
OTHER = "[OTHER]"
"""Marks another citation in `Query.sentence`."""


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A work that the citing paper already cites, as its own .bib gives it."""

    title: str
    authors: tuple[str, ...] = ()
    """Family names, in order."""
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    key: str = ""
    times: int = 0
    """How often the paper cites it in its text; 0 where that is not known."""

    @classmethod
    def of(cls, work: Work) -> Reference:
        """The work as a paper cites it."""
        return cls(
            title=work.title,
            authors=tuple(author.family for author in work.authors),
            year=work.year,
            doi=work.doi,
            arxiv=work.arxiv,
        )


class CitingPaper(msgspec.Struct, frozen=True, omit_defaults=True, cache_hash=True):
    """What is known of the paper being written."""

    title: str = ""
    abstract: str = ""
    year: int | None = None
    references: tuple[Reference, ...] = ()
    """Empty in the cold setting."""
    uncited: tuple[str, ...] = ()
    """Titles of the entries in the paper's own bibliographies that it does not cite yet."""
    project: str = ""
    """Folder of the paper: by it what was accepted here is known from what was elsewhere."""
    key: int = 0
    """Identity in the citation priors of a paper without a telling title; 0: that of its title."""


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, cache_hash=True):
    """A request for papers. Empty and rich queries are both valid.

    A typed search has only `text`; a placeholder such as `\\cite{}` has only context; most have
    both. Every text is plain prose, markup stripped.
    """

    text: str = ""
    """The words inside the placeholder."""
    sentence: str = ""
    """The sentence around the placeholder, which is written as `[CITATION]`."""
    before: tuple[str, ...] = ()
    """Sentences before it in the same section, in reading order (the nearest is the last)."""
    after: tuple[str, ...] = ()
    section: str = ""
    nearby: tuple[str, ...] = ()
    """Titles of what the sentence and the ones before it already cite, the nearest first."""
    beside: tuple[str, ...] = ()
    """Titles of what the sentence itself cites."""
    present: tuple[str, ...] = ()
    """Titles of the works that the citation itself already has. They are not offered again."""
    just_before: tuple[str, ...] = ()
    """Titles of what the sentence before it cites."""
    acronyms: tuple[tuple[str, str], ...] = ()
    """Acronyms of the passage that the document writes out: ("GAT", "graph attention network")."""
    paper: CitingPaper = CitingPaper()
    year_from: int | None = None
    year_to: int | None = None
    author: str = ""
    venue: str = ""
    kind: str = ""
    """An entry type ("article") or a kind known by titles ("survey")."""
    language: str = ""
    """A code or a name."""
    strict_language: bool = False
    """Papers without a stated language do not pass the filter by language."""
    exclude: tuple[str, ...] = ()
    """Work ids that must not be returned (already cited at this place)."""
    guessed: bool = False
    """The words were derived, for example from a key: they hint at a paper, but no author typed
    them."""

    unfinished: bool = False
    """The author may be in the middle of the last word of `text`: it is completed where it is no
    word yet. An editor that asks at every letter sets it; `fill` does not."""
    literature: bool = False
    """The words ask for the literature on a topic, not for one paper. A literature search sets it;
    the engine sets it for a request for papers, and takes it back for the title of a paper."""
    typed_query: TypedQuery = TypedQuery()
    """What was understood of the typed words; the engine sets it."""

    @property
    def typed(self) -> bool:
        """True when an author typed words."""
        return bool(self.text.strip()) and not self.guessed


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One right answer. Any of its ids names it; else its DOI, arXiv id, or a title and year."""

    ids: tuple[str, ...] = ()
    """Ids in the data set's own corpus; editions of the same work count alike."""
    titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """Family names, in order, if the data set has them."""
    first_author: str = ""
    """The first author's full name, as the data set writes it."""
    year: int | None = None
    doi: str = ""
    arxiv: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One evaluation item: a query and the works that answer it (none: abstain)."""

    id: str
    query: Query
    gold: tuple[str, ...] = ()
    """Ids of right answers that count as the same work or as equally right, in the library."""
    gold_titles: tuple[str, ...] = ()
    """Titles of right answers, for a library whose ids the data set does not know."""
    paper: str = ""
    """Unit of averaging and resampling: the citing paper or repository."""
    tags: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    """The right answers one by one, where there may be several; `gold` is their ids in one row."""
    beside: tuple[Target, ...] = ()
    """The other works of the same citation, which are right at this place, too."""
    year: int | None = None
    """Year of the citing paper: newer papers could not have been cited. Not sent to the engine."""


def near_part(query: Query) -> Query:
    """The query's typed words and citing sentence alone."""
    return Query(text=query.text, sentence=query.sentence)


# Which way one goes in the graph of citations; the graph itself needs heavy libraries.

Direction = Literal["cites", "cited_by", "cocited"]
"""What a paper cites; what cites it; what others cite together with it."""


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
