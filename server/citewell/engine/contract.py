"""What every front end and feature may ask of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from citewell.model import Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim
from citewell.model.feedback import Feedback
from citewell.model.llm import Budget, Interpreted, Picked, SuggestedQueries, Supported
from citewell.model.overview import LibraryCoverage, Summary
from citewell.model.query import CitingPaper, Direction

Tier = Literal["fast", "full", "deep"]
"""`fast`: within a completion's budget (100 ms). `full`: a second or two, where an author looks.
`deep`: an explicit act, for which a language model may be asked too."""


class EngineStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of the engine that answer, and the problems of those that do not."""

    library: str = ""
    """Folder of the open library; empty when there is none."""
    snapshot: str = ""
    works: int = 0
    covers: tuple[LibraryCoverage, ...] = ()
    """Coverage of the library and of those below it; none of one that is not open."""
    retrievers: tuple[str, ...] = ()
    encoder: str = ""
    ranker: str = ""
    cross_encoder: str = ""
    """The model that reads the head of an explicit search, once it is loaded."""
    sources: tuple[str, ...] = ()
    """Scholarly sources that searches ask too."""
    llm: str = ""
    """The language model that is asked: "ollama qwen3:8b"; empty when none is named."""
    explores: bool = False
    """Whether the language model takes part in literature searches."""
    budget: Budget = Budget()
    """Cost of the language model today."""
    timings: dict[str, float] = {}
    """Milliseconds of each stage of the last search that was no completion; empty before one."""
    rss_mb: float = 0.0
    pid: int = 0
    problems: tuple[Problem, ...] = ()


class Checks(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts on some references, in their order; none when nothing could be asked."""

    checks: tuple[Check, ...] = ()
    snapshot: str = ""
    """Snapshot of the library with whose records they were compared."""
    problems: tuple[Problem, ...] = ()


class RelatedWorks(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of the papers beside one in the citation graph, the ones cited most often first."""

    works: tuple[Work, ...] = ()
    together: tuple[int, ...] = ()
    """For `cocited` how many papers cite both; else 1. As long as `works`."""
    total: int = 0
    """How many the library holds."""
    elsewhere: int = 0
    """How many more are known that it does not hold."""
    known: bool = False
    """False where nothing is known of the paper, which is not the same as none."""
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
    """Best first, each once; the library's own record where it holds the work."""
    queries: tuple[tuple[str, str], ...] = ()
    """Name of each source that was queried, and the words that it received."""
    links: tuple[LinkedPapers, ...] = ()
    problems: tuple[Problem, ...] = ()
    """The sources that did not answer."""


class SuggestedWork(msgspec.Struct, frozen=True):
    """A work that others cite together with references of a paper."""

    work: Work
    beside: int
    """How many of the references they cite it with."""
    papers: int
    """How many papers do so."""


class Engine(Protocol):
    """Safe to call from any thread. A missing library is a problem in the result, no exception."""

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

        Each text is sent once. The sources are asked for at most `seconds` (by default
        `ONLINE_SECONDS`); one that did not answer is a problem in `dropped`. Where none may be
        asked, nothing is sent, and that is the problem. Raises only `Cancelled`.
        """
        ...

    def search_sources(
        self,
        query: Query,
        around: Sequence[Work] = (),
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        """Records of the allowed sources that cover the field of the words (or else of the papers
        `around`), each queried in its own form, all at once, for at most `seconds`. Raises only
        `Cancelled`."""
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
        """Records by id, in order, of the library or of a source that was asked; else None."""
        ...

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this DOI, arXiv id, normalised title or source key: exact, a few at most."""
        ...

    def related(
        self, identifier: str, direction: Direction, k: int = 20, *, offset: int = 0
    ) -> RelatedWorks:
        """What the paper with this id cites, what cites it, or what is cited with it, as far as
        the library and what ships with Citewell know it."""
        ...

    def citations(self, ids: Sequence[str]) -> list[int]:
        """How often each work is cited, in order, as far as its record and the citation priors
        know; 0 where nothing is known."""
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
        """Keep what an author accepted and dismissed, unless learning is off; why it could not
        be kept."""
        ...

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Which of the works the place of the query should cite, by the language model; the first
        where none is named or it fails. Raises only `Cancelled`."""
        ...

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence, by the language model. Raises only
        `Cancelled`."""
        ...

    def summarize(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> Summary:
        """A summary of the works for the question, by the language model: sentences that their
        abstracts support, each with ids of `works`. Raises only `Cancelled`."""
        ...

    def suggest_queries(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> SuggestedQueries:
        """Queries for methods, applications and limitations of what was found, by the language
        model. Raises only `Cancelled`."""
        ...

    def interpret(self, question: str, *, cancel: Cancel | None = None) -> Interpreted:
        """The conditions that the language model reads in a question, in the question's own words
        and as a query that the rules read. Raises only `Cancelled`."""
        ...

    def status(self) -> EngineStatus: ...

    def close(self) -> None: ...
