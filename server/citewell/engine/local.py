"""The engine in this process: library, retrievers, fusion, ranking."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from citewell.corpus.card import coverage_of
from citewell.corpus.library import Library
from citewell.engine.cascade import Cascade
from citewell.engine.checking import SLICE, LibraryCheck, Traffic, check_online
from citewell.engine.contract import (
    Authority,
    Checks,
    EngineStatus,
    LibraryGraph,
    RelatedWorks,
    SourcesFound,
    SuggestedWork,
    Tier,
)
from citewell.engine.cross_encoder_stage import CrossEncoderStage
from citewell.engine.history import History
from citewell.engine.history_store import HistoryStore
from citewell.engine.lookup import LookUp, PaperGroups, Relations
from citewell.engine.online import OFF, Online, shared
from citewell.engine.online_search import OnlineSearch, SourceSearch
from citewell.engine.processes import rss_mb
from citewell.engine.query_preprocessor import QueryPreprocessor
from citewell.engine.retrievers import LateRetriever, Opened, open_retrievers
from citewell.engine.search import Finder, Search
from citewell.engine.signals import LibraryAuthority, LibrarySignals
from citewell.engine.which_library import keeps_accepted, open_library
from citewell.model import CitewellError, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Claim
from citewell.model.feedback import Feedback
from citewell.model.llm import (
    Budget,
    Interpreted,
    Picked,
    SuggestedQueries,
    Summary,
    Supported,
    Usage,
)
from citewell.model.query import CitingPaper, Direction
from citewell.options import Options
from citewell.ranking.contract import Ranker
from citewell.ranking.learned import LearnedRanker
from citewell.retrieval.backend.over_backend import OverBackend
from citewell.retrieval.criteria import NAME as CRITERIA
from citewell.retrieval.criteria import Criteria
from citewell.retrieval.encoders.citation import WEIGHTS
from citewell.sources.service import ONLINE_SECONDS

if TYPE_CHECKING:
    from citewell.engine.accepted import AcceptedRecords
    from citewell.engine.llm_stage import LlmStage

# Parts of an engine for some settings only: sources on the network and a language model.
#
# Their imports are loaded when they are opened.


def open_llm(options: Options) -> tuple[LlmStage | None, tuple[Problem, ...]]:
    """The language model's stage; None, and no problem, if no model is configured."""
    if options.llm.provider == "none":
        return None, ()
    from citewell.engine.llm_stage import LlmStage

    try:
        return LlmStage.open(options.llm), ()
    except CitewellError as error:
        return None, (error.problem,)


def open_sources(options: Options) -> tuple[Online | None, tuple[Problem, ...]]:
    """The allowed sources; None, and no problem, if none is allowed."""
    if not options.sources.allow:
        return None, ()
    try:
        sources = shared(options)
    except CitewellError as error:
        return None, (error.problem,)
    return sources, sources.problems


def online_search(sources: Online | None, options: Options) -> OnlineSearch | None:
    """The online search; None if no source is open or the settings exclude sources from searches.

    It is shared per set of open sources, so that an engine reopened for another snapshot of the
    library still knows the papers that its predecessor offered.
    """
    if sources is None or not options.sources.search:
        return None
    with _LOCK:
        for closed in [one for one in _SEARCHES if one.is_closed]:
            del _SEARCHES[closed]
        return _SEARCHES.setdefault(sources, OnlineSearch(sources))


def accepted_records(options: Options) -> AcceptedRecords | None:
    """The store of accepted records; None if they are not stored."""
    if not keeps_accepted(options):
        return None
    from citewell.engine.accepted import AcceptedRecords

    accepted = AcceptedRecords(options)
    accepted.resume()
    return accepted


_LOCK = threading.Lock()
_SEARCHES: dict[Online, OnlineSearch] = {}


OpenRetrievers = Callable[[Library, Options], Opened]
RANKER = WEIGHTS / "ranker.npz"
TYPED = WEIGHTS / "typed.npz"
LITERATURE = WEIGHTS / "literature.npz"
CONFIDENCE = WEIGHTS / "confidence.npz"


class LocalEngine:
    """Searches one library: an `Engine`, which documents the methods."""

    def __init__(
        self,
        options: Options,
        library: Library | None,
        opened: Opened,
        ranker: Ranker | None = None,
        problems: Sequence[Problem] = (),
        *,
        reader: CrossEncoderStage | None = None,
        sources: Online | None = None,
        history: HistoryStore | None = None,
        llm_stage: LlmStage | None = None,
        first_seconds: float = 0.0,
    ) -> None:
        self._llm_stage = llm_stage
        self._sources = sources
        self._online = online_search(sources, options)
        self._accepted = None if self._online is None else accepted_records(options)
        self._options = options
        self._library = library
        self._opened = opened
        self._lookup = LookUp(library, self._online)
        self._groups = PaperGroups(library, opened, self._lookup)
        self._ranker = ranker
        self._reader = reader
        self._problems = tuple(problems)
        self._traffic = Traffic()
        size = SLICE if opened.retrievers else None  # else no search waits for a check
        self._check = None if library is None else LibraryCheck(library, self._traffic, size)
        self._relations = None if library is None else Relations(library, opened.columns)
        self._signals = None if library is None else LibrarySignals(library, opened)
        self._source_search = None
        if sources is not None and self._online is not None:
            self._source_search = SourceSearch(
                sources, self._online, self._lookup.held, self._signals
            )
        self._history = (
            History(history or HistoryStore(), self._signals) if options.learning.enabled else None
        )
        criteria = opened.typed.get(CRITERIA)
        if isinstance(criteria, Criteria) and self._relations is not None:
            criteria.related = self._relations.rows
        if opened.filters is not None and self._signals is not None:
            opened.filters.cited = self._signals.cited_rows
        search = None
        self._authority = None
        if library is not None and self._signals is not None:
            self._authority = LibraryAuthority(library, opened, self._signals)
            cascade = Cascade(
                options,
                library,
                opened,
                self._signals,
                ranker=ranker,
                history=self._history,
                reader=reader,
                llm_stage=llm_stage,
            )
            writer = llm_stage if options.llm.reformulate else None
            search = Search(options.retrieval, opened, writer, cascade, first_seconds)
        self._finder = Finder(
            search,
            library,
            opened,
            self._problems,
            typed=QueryPreprocessor(library, opened, self._signals),
            lookup=self._lookup,
            online=self._online,
        )

    @classmethod
    def open(
        cls,
        options: Options,
        *,
        retrievers: OpenRetrievers = open_retrievers,
        ranker: Ranker | None = None,
        reader: CrossEncoderStage | None = None,
        history: HistoryStore | None = None,
        first_seconds: float = 0.0,
    ) -> LocalEngine:
        """Open the library in the options; without one, every answer reports it. The first search
        may take `first_seconds`, whatever the settings."""
        sources, troubles = open_sources(options)
        llm_stage, others = open_llm(options)
        problems = [*troubles, *others]
        library, opened = None, Opened()
        try:
            library, more = open_library(options)
            problems += more
        except CitewellError as error:
            problems.insert(0, error.problem)
            ranker = reader = None
        else:
            opened = retrievers(library, options)
            if ranker is None and options.retrieval.ranker == "learned" and RANKER.exists():
                ranker = LearnedRanker(
                    RANKER, _existing(TYPED), _existing(LITERATURE), _existing(CONFIDENCE)
                )
            if reader is None and options.retrieval.cross_encoder:
                reader = CrossEncoderStage(options.retrieval)
        return cls(
            options,
            library,
            opened,
            ranker,
            problems,
            reader=reader,
            sources=sources,
            llm_stage=llm_stage,
            history=history,
            first_seconds=first_seconds,
        )

    def load(self, seconds: float) -> None:
        """Wait for models being loaded and a server being connected, at most `seconds`.

        For a command with one request; a server answers without them until they are ready.
        """
        limit = time.monotonic() + seconds
        for part in (*self._opened.retrievers.values(), self._reader):
            if isinstance(part, LateRetriever | CrossEncoderStage | OverBackend):
                part.wait(max(0.0, limit - time.monotonic()))
        own = self._options.llm
        if self._llm_stage is not None and (own.rerank != "none" or own.reformulate):
            self._llm_stage.wait(max(0.0, limit - time.monotonic()))

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        with self._traffic:
            return self._finder.find(query, k, tier, cancel or Cancel())

    def wait_online(self, query: Query, seconds: float) -> None:
        """Wait for the sources' answers to the words of a query, for a command with one request.

        The next `find` with the same words includes their records.
        """
        if self._online is not None:
            self._online.wait(query.text, seconds)

    def ask_sources(
        self,
        queries: Sequence[Query],
        results: Sequence[SearchResult],
        k: int = 20,
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> list[SearchResult]:
        if self._online is None:
            problem = self._sources_problem()
            return [
                msgspec.structs.replace(one, dropped=(*one.dropped, problem)) for one in results
            ]
        limit = ONLINE_SECONDS if seconds is None else seconds
        self._online.ask([query.text for query in queries], limit, cancel or Cancel())
        pairs = zip(queries, results, strict=True)
        return [self._finder.with_sources(query, result, k) for query, result in pairs]

    def search_sources(
        self,
        query: Query,
        fields: Sequence[str] = (),
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        if self._source_search is None:
            return SourcesFound(problems=(self._sources_problem(),))
        return self._source_search.search(query, fields, seconds, cancel or Cancel())

    def follow_citations(
        self,
        works: Sequence[Work],
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        if self._source_search is None:
            return SourcesFound(problems=(self._sources_problem(),))
        return self._source_search.links(works, seconds, cancel or Cancel())

    def _sources_problem(self) -> Problem:
        """The reason why no source is queried."""
        if self._sources is None:
            return next(iter(open_sources(self._options)[1]), OFF)
        message = "The sources are excluded from searches; nothing was sent."
        return Problem("sources-off", message, "Set `sources.search = true`.")

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int = 20,
        *,
        tier: Tier = "fast",
        cancel: Cancel | None = None,
        explained: int | None = None,
    ) -> list[SearchResult]:
        return self._finder.find_batch(queries, k, tier, cancel or Cancel(), explained)

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        return self._lookup.works(ids)

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        return self._lookup.lookup(doi=doi, arxiv=arxiv, title=title, bibkey=bibkey)

    def related(
        self, identifier: str, direction: Direction, k: int = 20, *, offset: int = 0
    ) -> RelatedWorks:
        if self._relations is None:
            return RelatedWorks(problems=self._problems)
        return self._relations.related(identifier, direction, k, offset)

    def citations(self, ids: Sequence[str]) -> list[int]:
        return [0] * len(ids) if self._signals is None else self._signals.citations_of(ids)

    def library_graph(self, most: int) -> LibraryGraph:
        if self._relations is None:
            return LibraryGraph(problems=self._problems)
        return self._relations.of_library(most)

    def authority(self, ids: Sequence[str]) -> list[Authority]:
        return [Authority() for _ in ids] if self._authority is None else self._authority.of(ids)

    def suggest(self, paper: CitingPaper, k: int = 10) -> list[SuggestedWork]:
        return [] if self._signals is None else self._signals.suggested(paper, k)

    def expected(self, names: Sequence[str]) -> list[Work | None]:
        signals = self._signals
        return [None if signals is None else signals.expected(name) for name in names]

    def cluster(self, ids: Sequence[str], most: int) -> list[int]:
        return self._groups.of(ids, most)

    def likeness(self, query: Query, ids: Sequence[str]) -> list[float]:
        return self._groups.likeness(query, ids)

    def check(
        self,
        claims: Sequence[Claim],
        *,
        online: bool = False,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> Checks:
        cancel = cancel or Cancel()
        if online and self._sources is None:
            return Checks(problems=(*self._problems, *open_sources(self._options)[1]) or (OFF,))
        if online and self._sources is not None:
            limit = ONLINE_SECONDS if seconds is None else seconds
            checks, late = check_online(self._library, self._sources, claims, cancel, limit)
            snapshot = "" if self._library is None else self._library.snapshot
            return Checks(tuple(checks), snapshot, problems=late)
        if self._check is None or self._library is None:
            return Checks(problems=self._problems)
        return Checks(tuple(self._check.check(claims, cancel)), self._library.snapshot)

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Store accepted and dismissed papers, unless learning is off, and an accepted record of a
        source, unless that is off."""
        kept = self.keep([feedback.accepted.id])
        return kept if self._history is None else (*kept, *self._history.learn(feedback))

    def keep(self, ids: Sequence[str]) -> tuple[Problem, ...]:
        """Store the records with these ids that came from a source and are missing from the
        library, unless that is off; return the problems."""
        if self._accepted is None or self._online is None:
            return ()
        offered = [self._online.work(identifier) for identifier in ids]
        new = [work for work in offered if work is not None and self._lookup.held(work) is None]
        return self._accepted.keep(new) if new else ()

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        if self._llm_stage is None:
            return Picked(work=works[0].id if works else "", problem=self._no_llm())
        return self._llm_stage.pick(query, works, cancel or Cancel())

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        if self._llm_stage is None:
            return Supported(problem=self._no_llm())
        return self._llm_stage.verify(sentence, work, cancel or Cancel())

    def summarize(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> Summary:
        if self._llm_stage is None:
            return Summary(problem=self._no_llm())
        return self._llm_stage.summarize(question, works, cancel or Cancel())

    def suggest_queries(
        self, question: str, works: Sequence[Work], *, cancel: Cancel | None = None
    ) -> SuggestedQueries:
        if self._llm_stage is None:
            return SuggestedQueries(problem=self._no_llm())
        return self._llm_stage.suggest_queries(question, works, cancel or Cancel())

    def interpret(self, question: str, *, cancel: Cancel | None = None) -> Interpreted:
        if self._llm_stage is None:
            return Interpreted(problem=self._no_llm())
        return self._llm_stage.interpret(question, cancel or Cancel())

    def spent(self) -> Usage:
        """Cost of this engine's language model."""
        return Usage() if self._llm_stage is None else self._llm_stage.spent

    def _no_llm(self) -> Problem:
        from citewell.engine.llm_stage import OFF

        known = (one for one in self._problems if one.code.startswith("llm-"))
        return next(known, OFF)

    def status(self) -> EngineStatus:
        library = self._library
        return EngineStatus(
            library="" if library is None else str(library.path),
            snapshot="" if library is None else library.snapshot,
            works=0 if library is None else len(library),
            covers=() if library is None else coverage_of(library),
            retrievers=tuple(self._opened.retrievers),
            encoder=self._opened.encoder,
            ranker="" if self._ranker is None else self._ranker.name,
            cross_encoder="" if self._reader is None else self._reader.loaded,
            sources=() if self._sources is None else self._sources.names,
            llm="" if self._llm_stage is None else self._llm_stage.name,
            explores=self._llm_stage is not None and self._llm_stage.explores,
            budget=Budget() if self._llm_stage is None else self._llm_stage.budget(),
            timings=self._finder.timings,
            rss_mb=rss_mb(),
            pid=os.getpid(),
            problems=(
                *self._problems,
                *self._opened.problems,
                *self._opened.not_loaded,
                *(() if self._reader is None else self._reader.problems),
                *(() if self._history is None else self._history.problems),
            ),
        )

    def close(self) -> None:
        """Close the library's files, and stop queries to sources. Waits until accepted records are
        built."""
        parts = (self._accepted, self._history, self._reader, self._llm_stage)
        for part in (*parts, self._online, self._sources, self._library):
            if part is not None:
                part.close()


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None
