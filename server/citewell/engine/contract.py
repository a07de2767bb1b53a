"""The contract of the engine for front ends and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from citewell.corpus.card import LibraryCoverage
from citewell.model import Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim
from citewell.model.feedback import Feedback
from citewell.model.llm import Budget, Interpreted, Picked, SuggestedQueries, Summary, Supported
from citewell.model.query import CitingPaper, Direction

Tier = Literal["fast", "full", "deep"]
"""`fast`: within a completion's budget (100 ms). `full`: a second or two, for a visible list.
`deep`: an explicit request, which may include a language model."""


class EngineStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of the engine that answer, and the problems of those that do not."""

    library: str = ""
    """Folder of the open library; empty when there is none."""
    snapshot: str = ""
    works: int = 0
    covers: tuple[LibraryCoverage, ...] = ()
    """Coverage of the library and of those below it; empty for one that is not open."""
    retrievers: tuple[str, ...] = ()
    encoder: str = ""
    ranker: str = ""
    cross_encoder: str = ""
    """The model that reranks explicit searches, once it is loaded."""
    sources: tuple[str, ...] = ()
    """Scholarly sources included in searches."""
    llm: str = ""
    """The language model: "ollama qwen3:8b"; empty if none is configured."""
    explores: bool = False
    """Whether the language model takes part in literature searches."""
    budget: Budget = Budget()
    """Usage of the language model today."""
    timings: dict[str, float] = {}
    """Milliseconds of each stage of the last search other than a completion; empty before the
    first."""
    rss_mb: float = 0.0
    pid: int = 0
    problems: tuple[Problem, ...] = ()


class Checks(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts on some references, in their order; empty if the check failed."""

    checks: tuple[Check, ...] = ()
    snapshot: str = ""
    """Snapshot of the library used."""
    problems: tuple[Problem, ...] = ()


class RelatedWorks(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a paper's neighbours in the citation graph, the most cited first."""

    works: tuple[Work, ...] = ()
    together: tuple[int, ...] = ()
    """For `cocited`, the number of papers that cite both; else 1. As long as `works`."""
    total: int = 0
    """Number of neighbours in the library."""
    elsewhere: int = 0
    """Number of known neighbours missing from the library."""
    known: bool = False
    """False when nothing is known of the paper, which differs from having no neighbours."""
    problems: tuple[Problem, ...] = ()


class LinkedPapers(msgspec.Struct, frozen=True):
    """The papers that a source links to one."""

    start: str
    """Id of the paper whose links were requested."""
    direction: Direction
    """`cites`: it cites them; `cited_by`: they cite it."""
    works: tuple[Work, ...]


class SourcesFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answers of the allowed sources to a literature search."""

    works: tuple[Work, ...] = ()
    """Best first, each once; the library's own record if there is one."""
    queries: tuple[tuple[str, str], ...] = ()
    """Name of each queried source, and the words that it received."""
    links: tuple[LinkedPapers, ...] = ()
    problems: tuple[Problem, ...] = ()
    """The sources that did not answer."""


class LibraryGraph(msgspec.Struct, frozen=True, omit_defaults=True):
    """Works of a library and the known citations among them."""

    works: tuple[Work, ...] = ()
    total: int = 0
    """Number of works of the library."""
    cited: tuple[int, ...] = ()
    """For each work the number of works of the library that cite it."""
    cites: tuple[tuple[int, int], ...] = ()
    """Pairs of indices of works: the first cites the second."""
    gaps: tuple[tuple[Work, int], ...] = ()
    """Works of the libraries below that works of this one cite, and how many do."""
    problems: tuple[Problem, ...] = ()


class Authority(msgspec.Struct, frozen=True, omit_defaults=True):
    """The citations of a work, its venue and its authors, as far as a library knows them."""

    citations: int = 0
    venue: float | None = None
    """Share of the venues whose works have fewer citations a year; None for a venue of few
    works."""
    authors: int = 0
    """Citations of all works of its first or last author, the greater of both."""


class SuggestedWork(msgspec.Struct, frozen=True):
    """A work that others cite together with references of a paper."""

    work: Work
    beside: int
    """How many of the references they cite it with."""
    papers: int
    """How many papers do so."""


class Engine(Protocol):
    """The engine. Thread-safe. A missing library is a problem in the result, not an exception."""

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        """The best `k` works for the query. Raises only `Cancelled`."""
        ...

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int = 20,
        *,
        tier: Tier = "fast",
        cancel: Cancel | None = None,
        explained: int | None = None,
    ) -> list[SearchResult]:
        """The best `k` works for each query, in order. Raises only `Cancelled`.

        Only the first `explained` hits carry their evidence; None: all of them.
        """
        ...

    def ask_sources(
        self,
        queries: Sequence[Query],
        results: Sequence[SearchResult],
        k: int = 20,
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> list[SearchResult]:
        """The results of the queries, each joined with what the allowed sources find for its words.

        Each text is sent once. The sources have at most `seconds` (by default `ONLINE_SECONDS`);
        one that did not answer is a problem in `dropped`. If none is allowed, nothing is sent, and
        that is the problem. Raises only `Cancelled`.
        """
        ...

    def search_sources(
        self,
        query: Query,
        fields: Sequence[str] = (),
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        """Records of the allowed sources that cover the `fields`, or of all without any, each
        queried in its own form, all at once, for at most `seconds`. Raises only `Cancelled`."""
        ...

    def follow_citations(
        self,
        works: Sequence[Work],
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        """References and citers (`links`) of some works from an allowed source that lists them.
        Raises only `Cancelled`."""
        ...

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order, from the library or from a source's earlier answer; else
        None."""
        ...

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this DOI, arXiv id, normalised title or source key: exact, a few at most."""
        ...

    def related(
        self, identifier: str, direction: Direction, k: int = 20, *, offset: int = 0
    ) -> RelatedWorks:
        """Papers that the paper with this id cites, that cite it, or that are cited with it, as far
        as the library and the shipped data know."""
        ...

    def citations(self, ids: Sequence[str]) -> list[int]:
        """Number of citations of each work, in order, from its record and the citation priors; 0 if
        unknown."""
        ...

    def library_graph(self, most: int) -> LibraryGraph:
        """The library without those below it, unless it is empty: the `most` works that its works
        cite most."""
        ...

    def authority(self, ids: Sequence[str]) -> list[Authority]:
        """The authority of each work, in order."""
        ...

    def suggest(self, paper: CitingPaper, k: int = 10) -> list[SuggestedWork]:
        """Works that a paper lacks and that others cite together with its references, as far as the
        citation priors know, best first."""
        ...

    def expected(self, names: Sequence[str]) -> list[Work | None]:
        """For each name, the work that papers which write the name are expected to cite
        (`corpus.aliases.Alias.is_expected`), in order; None where there is none."""
        ...

    def cluster(self, ids: Sequence[str], most: int) -> list[int]:
        """The group of each work, in order, by its dense vector: `most` groups at most, numbered
        from 0; -1 where a work has no vector. The same works always give the same groups."""
        ...

    def likeness(self, query: Query, ids: Sequence[str]) -> list[float]:
        """How like a query the title and abstract of each work are: the cosine of their dense
        vectors, in order; 0 where one has no vector."""
        ...

    def check(
        self,
        claims: Sequence[Claim],
        *,
        online: bool = False,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> Checks:
        """Check whether each reference exists and is correct; yields to searches.

        Sources are queried for at most `seconds` (by default `ONLINE_SECONDS`). References that
        they did not answer for by then are unchecked, and a problem reports that. Raises only
        `Cancelled`.
        """
        ...

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Store accepted and dismissed papers, unless learning is off; return the problems of
        storing."""
        ...

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Have the language model pick one of the works for the place of the query; the first work
        if no model is configured or it fails. Raises only `Cancelled`."""
        ...

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence, by the language model. Raises only
        `Cancelled`."""
        ...

    def summarize(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> Summary:
        """A summary of the works for the question, by the language model: sentences supported by
        their abstracts, each with ids of `works`. Raises only `Cancelled`."""
        ...

    def suggest_queries(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> SuggestedQueries:
        """Queries for methods, applications and limitations of the papers found, by the language
        model. Raises only `Cancelled`."""
        ...

    def interpret(self, question: str, *, cancel: Cancel | None = None) -> Interpreted:
        """The conditions that the language model finds in a question, as a typed query in the
        question's own words. Raises only `Cancelled`."""
        ...

    def status(self) -> EngineStatus: ...

    def close(self) -> None: ...
