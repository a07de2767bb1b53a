"""Queries, the input of every retriever, and search results: works with the evidence for each."""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model.problem import Problem
from citewell.model.work import Work

# The parts of typed words (topic, authors, venues, years and the like) and their positions.
#
# `retrieval.query_grammar` parses them; front ends show the parts, and an author removes one by
# deleting its characters or by putting a plus sign before them ("+nature" is a word).

PartKind = Literal[
    "author", "venue", "year", "phrase", "excluded", "kind", "language", "keyword", "recency",
    "citations", "cites", "cited_by", "like",
]  # fmt: skip
Recency = Literal["", "recent", "early"]


class TypedQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of typed words, by kind."""

    topic: str = ""
    """The words that belong to no other part."""
    phrases: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    """Words and phrases that a paper must not contain."""
    authors: tuple[str, ...] = ()
    """Names as typed, each of an author with papers in the library."""
    venues: tuple[str, ...] = ()
    """Short names, such as "NeurIPS"."""
    kinds: tuple[str, ...] = ()
    """Any of "survey", "dataset", "benchmark" and "method"."""
    year_from: int | None = None
    year_to: int | None = None
    min_citations: int | None = None
    recency: Recency = ""
    influential: bool = False
    cites: tuple[str, ...] = ()
    """Ids of works that a paper should cite."""
    cited_by: tuple[str, ...] = ()
    """Ids of works that should cite a paper."""
    like: tuple[str, ...] = ()
    """Ids of works that others should cite together with a paper."""


class QueryPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the typed words: `text[start:end]`."""

    start: int
    end: int
    kind: PartKind
    value: str
    """Its meaning: "NeurIPS", "2015-2018", "-survey"."""


class Understood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The interpretation of the typed words; empty if they are plain words."""

    query: TypedQuery = TypedQuery()
    parts: tuple[QueryPart, ...] = ()
    """In the order of the text, without overlap."""


MARK = "[CITATION]"
"""Marks the place of the citation in `Query.sentence`."""
OTHER = "[OTHER]"
"""Marks another citation in `Query.sentence`."""


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A work that the citing paper already cites, from its own .bib."""

    title: str
    authors: tuple[str, ...] = ()
    """Family names, in order."""
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    key: str = ""
    times: int = 0
    """Number of citations in the paper's text; 0 if unknown."""

    @classmethod
    def of(cls, work: Work) -> Reference:
        """The work as a reference."""
        return cls(
            title=work.title,
            authors=tuple(author.family for author in work.authors),
            year=work.year,
            doi=work.doi,
            arxiv=work.arxiv,
        )


class CitingPaper(msgspec.Struct, frozen=True, omit_defaults=True, cache_hash=True):
    """The context of the paper being written."""

    title: str = ""
    abstract: str = ""
    year: int | None = None
    references: tuple[Reference, ...] = ()
    """Empty in the cold setting."""
    uncited: tuple[str, ...] = ()
    """Titles of the entries in the paper's own bibliographies that it does not cite yet."""
    project: str = ""
    """Folder of the paper: distinguishes papers accepted here from those accepted elsewhere."""
    key: int = 0
    """Key of the paper in the citation priors, if its title is not distinctive; 0: that of its
    title."""


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, cache_hash=True):
    """A request for papers. Empty and rich queries are both valid.

    A typed search has only `text`; a placeholder such as `\\cite{}` has only context; most have
    both. Every text is plain prose, markup stripped.
    """

    text: str = ""
    """The words inside the placeholder."""
    sentence: str = ""
    """The sentence around the placeholder, which is replaced by `[CITATION]`."""
    before: tuple[str, ...] = ()
    """Sentences before it in the same section, in reading order (the last is the nearest)."""
    after: tuple[str, ...] = ()
    section: str = ""
    nearby: tuple[str, ...] = ()
    """Titles of the works cited in the sentence and those before it, the nearest first."""
    beside: tuple[str, ...] = ()
    """Titles of the works cited in the sentence itself."""
    present: tuple[str, ...] = ()
    """Titles of the works already in the citation itself. They are not offered again."""
    just_before: tuple[str, ...] = ()
    """Titles of the works cited in the preceding sentence."""
    acronyms: tuple[tuple[str, str], ...] = ()
    """Acronyms of the passage, with the long forms in the document: ("GAT", "graph attention
    network")."""
    paper: CitingPaper = CitingPaper()
    year_from: int | None = None
    year_to: int | None = None
    author: str = ""
    venue: str = ""
    kind: str = ""
    """An entry type ("article") or a kind recognised by titles ("survey")."""
    language: str = ""
    """A code or a name."""
    strict_language: bool = False
    """Whether the language filter excludes papers without a stated language."""
    keyword: str = ""
    """A whole keyword of the record."""
    exclude: tuple[str, ...] = ()
    """Work ids that must not be returned (already cited at this place)."""
    guessed: bool = False
    """Whether the words were derived, for example from a key, rather than typed."""

    model: bool = True
    """Whether the language model may be asked about it, if one is configured."""
    unfinished: bool = False
    """Whether the author may still be typing the last word of `text`: it is completed if it is no
    word yet. An editor that asks at every letter sets it; `fill` does not."""
    literature: bool = False
    """Whether the words ask for the literature on a topic, not for one paper. A literature search
    sets it; the engine sets it for a request for papers, and unsets it for the title of a paper."""
    typed_query: TypedQuery = TypedQuery()
    """The interpretation of the typed words; set by the engine."""

    @property
    def typed(self) -> bool:
        """True when an author typed words."""
        return bool(self.text.strip()) and not self.guessed


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One right answer, identified by any of its ids; else by DOI, arXiv id, or title and year."""

    ids: tuple[str, ...] = ()
    """Ids in the data set's own corpus; editions of the same work are equivalent."""
    titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """Family names, in order, if the data set has them."""
    first_author: str = ""
    """The first author's full name, as the data set writes it."""
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    grade: float = 1.0
    """How relevant it is, where a data set grades its answers: from above 0, such as 1 to 4."""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One evaluation item: a query and the works that answer it; without any, the system should
    abstain."""

    id: str
    query: Query
    gold: tuple[str, ...] = ()
    """Ids in the library of the right answers: the same work, or equally right ones."""
    gold_titles: tuple[str, ...] = ()
    """Titles of the right answers, for a library with other ids than the data set."""
    paper: str = ""
    """Unit of averaging and resampling: the citing paper or repository."""
    tags: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    """The right answers one by one, if there may be several; `gold` joins their ids."""
    beside: tuple[Target, ...] = ()
    """The other works of the same citation, which are also right here."""
    year: int | None = None
    """Year of the citing paper: newer papers could not have been cited. Not sent to the engine."""


def near_part(query: Query) -> Query:
    """The query reduced to its typed words and citing sentence."""
    return Query(text=query.text, sentence=query.sentence)


# Directions in the citation graph; the graph itself needs heavy libraries.

Direction = Literal["cites", "cited_by", "cocited"]
"""The references of a paper, the papers that cite it, or those cited together with it."""


FILTERS = "filters"
"""Retriever named in the evidence of papers found by filters alone, without words."""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason why one retriever or ranker proposes a work."""

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
    """For a reranker: the 1-based rank that the work had before."""
    snippet: str = ""
    """The best matching sentence of the full text."""
    page: int | None = None
    """1-based page of the snippet."""
    beside: int = 0
    """Number of the citing paper's references that others cite together with the work."""


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One proposed work. `score` orders its list and means nothing outside it."""

    work: Work
    score: float
    evidence: tuple[Evidence, ...] = ()
    key: str = ""
    """The key of this work in the project's .bib; empty if it has none."""
    confidence: float | None = None
    """Calibrated probability in [0, 1] that an author would cite this work here, if known."""


NO_FAILURE = frozenset({"filter-empty", "identifier-unknown", "not-held", "query-wordless"})
"""Codes of problems of a search that ran and correctly found nothing."""


class SearchResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ranked hits, the retrievers left out, and the time taken."""

    hits: tuple[Hit, ...] = ()
    dropped: tuple[Problem, ...] = ()
    """Retrievers that failed or were late; the result holds without them."""
    problems: tuple[Problem, ...] = ()
    """Problems that left the result empty or incomplete, with hints."""

    @property
    def failed(self) -> tuple[Problem, ...]:
        """The problems that prevented the search; the others explain an empty result."""
        return tuple(one for one in self.problems if one.code not in NO_FAILURE)

    timings: dict[str, float] = msgspec.field(default_factory=dict)
    """Milliseconds per stage."""
    understood: Understood = Understood()
    """The interpretation of the typed words, for front ends to show."""
    conditions: TypedQuery = TypedQuery()
    """The conditions that the search applied: a year that may be a word of a title also admits the
    years beside it."""
    queries: tuple[str, ...] = ()
    """Further texts that were searched for, from rules or the language model."""
    variant: str = ""
    """The method that ordered the list, such as "learned" or "fusion"; empty if nothing was
    ordered."""
