"""The engine in this process: library, retrievers, fusion, ranking."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from citewell.corpus import Library
from citewell.engine.checking import LibraryCheck, Traffic
from citewell.engine.contract import Checks, EngineStatus, Related, Tier
from citewell.engine.history import NAME as HISTORY
from citewell.engine.history import History, considered
from citewell.engine.history_store import HistoryStore
from citewell.engine.late import LateRetriever
from citewell.engine.memory import rss_mb
from citewell.engine.other_queries import OtherQueries, variant_name, variant_of
from citewell.engine.relations import TELLING_TITLE, Relations
from citewell.engine.rereading import Reader, Reread
from citewell.engine.retrievers import Opened, open_retrievers
from citewell.engine.runs import Runner
from citewell.engine.signals import LibrarySignals
from citewell.engine.which_library import which_library
from citewell.model import CitewellError, Evidence, Hit, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Claim
from citewell.model.direction import Direction
from citewell.model.feedback import Feedback
from citewell.model.llm import Budget, Picked, Supported
from citewell.options import Options
from citewell.ranking.contract import Candidates, Ordering, Ranker
from citewell.ranking.cross_encoder import NAME as CROSS_ENCODER
from citewell.ranking.learned import LearnedRanker
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.encoders.static import WEIGHTS
from citewell.retrieval.fuse import Fused, fuse
from citewell.retrieval.structure import structured

if TYPE_CHECKING:
    from citewell.engine.language import Linguist
    from citewell.engine.online import Online
    from citewell.engine.online_search import OnlineSearch

logger = logging.getLogger(__name__)

OpenRetrievers = Callable[[Library, Options], Opened]
_BATCH_SECONDS = 3600.0
_MOST_KNOWN = 5_000
RANKER = WEIGHTS / "ranker.npz"


class LocalEngine:
    """Searches one library. Safe to call from any thread."""

    def __init__(
        self,
        options: Options,
        library: Library | None,
        opened: Opened,
        ranker: Ranker | None = None,
        problems: Sequence[Problem] = (),
        *,
        reader: Reader | None = None,
        sources: Online | None = None,
        history: HistoryStore | None = None,
        linguist: Linguist | None = None,
    ) -> None:
        self._linguist = linguist
        self._known: dict[str, Work | None] = {}
        self._sources = sources
        self._online = _online_search(sources) if options.sources.search else None
        self._options = options
        self._library = library
        self._opened = opened
        self._ranker = ranker
        self._reader = reader
        self._problems = tuple(problems)
        self._runner = Runner()
        self._traffic = Traffic()
        self._check = None if library is None else LibraryCheck(library, self._traffic)
        self._relations = None if library is None else Relations(library, opened.columns)
        self._signals = None if library is None else LibrarySignals(library, opened)
        self._history = (
            History(history or HistoryStore(), self._signals) if options.learning.enabled else None
        )
        self._others = OtherQueries(options, self._signals, linguist)

    @classmethod
    def open(
        cls,
        options: Options,
        *,
        retrievers: OpenRetrievers = open_retrievers,
        ranker: Ranker | None = None,
        history: HistoryStore | None = None,
    ) -> LocalEngine:
        """Open the library that the options name; without one, every answer says so."""
        sources, troubles = _open_sources(options)
        linguist, more = _open_linguist(options)
        troubles = (*troubles, *more)
        try:
            library = Library.open(which_library(options))
        except CitewellError as error:
            problems = [error.problem, *troubles]
            return cls(
                options,
                None,
                Opened(),
                problems=problems,
                sources=sources,
                linguist=linguist,
                history=history,
            )
        if ranker is None and options.retrieval.ranker == "learned" and RANKER.exists():
            ranker = LearnedRanker(RANKER)
        reader = Reader(options.retrieval) if options.retrieval.cross_encoder else None
        return cls(
            options,
            library,
            retrievers(library, options),
            ranker,
            troubles,
            reader=reader,
            sources=sources,
            linguist=linguist,
            history=history,
        )

    def load(self, seconds: float) -> None:
        """Wait for models that are still being loaded, at most so long.

        For a command that asks once; a server answers without them until they are there.
        """
        limit = time.monotonic() + seconds
        for part in (*self._opened.retrievers.values(), self._reader):
            if isinstance(part, LateRetriever | Reader):
                part.wait(max(0.0, limit - time.monotonic()))
        own = self._options.llm
        if self._linguist is not None and (own.rerank != "none" or own.reformulate):
            self._linguist.wait(max(0.0, limit - time.monotonic()))

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        """The best `k` works for the query. Raises only `Cancelled`."""
        with self._traffic:
            return self._find(query, k, tier, cancel or Cancel())

    def _find(self, query: Query, k: int, tier: Tier, cancel: Cancel) -> SearchResult:
        if self._library is None:
            return self._with_online(SearchResult(problems=self._problems), query, k)
        begin = time.perf_counter()
        typed = query
        query = structured(query)
        depth = max(k, self._options.retrieval.depth)
        seconds = min(self._options.retrieval.timeout_ms / 1e3, cancel.remaining)
        others, troubles = self._others.of(query, tier, cancel)
        tasks = {
            variant_name(name, number): _search_task(retriever, one, depth)
            for number, one in enumerate((query, *others))
            for name, retriever in self._opened.retrievers.items()
        }
        lists, late, timings = self._runner.run(tasks, seconds, cancel)
        dropped = (*late, *troubles)
        try:
            result = self._finish(query, k, lists, timings, cancel, tier=tier)
        except CitewellError as error:
            result = SearchResult(problems=(error.problem,))
        result = self._with_online(result, msgspec.structs.replace(query, text=typed.text), k)
        timings["total"] = (time.perf_counter() - begin) * 1e3
        return SearchResult(
            hits=result.hits,
            dropped=(*self._opened.problems, *dropped, *result.dropped),
            problems=result.problems,
            timings={stage: round(spent, 2) for stage, spent in timings.items()},
            variant=result.variant,
        )

    def wait_online(self, query: Query, seconds: float) -> None:
        """Until the sources have answered for the words of a query, for a command that asks once.

        The next `find` of the same words has their records.
        """
        if self._online is not None:
            self._online.wait(query.text, seconds)

    def _with_online(self, result: SearchResult, query: Query, k: int) -> SearchResult:
        """The result with what the sources have said by now; what they have not, is asked for."""
        if self._online is None:
            return result
        from citewell.engine.online_search import joined

        late = self._online.offer(query.text)
        if not late.works and not late.problems:
            return result
        return msgspec.structs.replace(
            result,
            hits=joined(result.hits, late, query, k, self._held),
            dropped=(*result.dropped, *late.problems),
        )

    def _held(self, work: Work) -> Work | None:
        """The library's own record of a work; looked up once, for a list is made at each letter."""
        if work.id not in self._known:
            if len(self._known) > _MOST_KNOWN:
                self._known = {}
            self._known[work.id] = self._look_for(work)
        return self._known[work.id]

    def _look_for(self, work: Work) -> Work | None:
        found = self.lookup(doi=work.doi) if work.doi else []
        if not found and work.arxiv:
            found = self.lookup(arxiv=work.arxiv)
        if found:
            return found[0]
        same = self.lookup(title=work.title) if len(work.title) >= TELLING_TITLE else []
        families = {author.family for author in work.authors}
        return next((w for w in same if families & {a.family for a in w.authors}), None)

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int = 20,
        *,
        tier: Tier = "fast",
        cancel: Cancel | None = None,
        explained: int | None = None,
    ) -> list[SearchResult]:
        """The same for many queries; retrievers share their work over the queries.

        Only the first `explained` hits carry their evidence, which costs more than finding them;
        None: all of them.
        """
        if self._library is None:
            return [SearchResult(problems=self._problems) for _ in queries]
        queries = [structured(query) for query in queries]
        depth = max(k, self._options.retrieval.depth)
        cancel = cancel or Cancel()
        asked = [self._others.of(query, tier, cancel) for query in queries]
        most = max((len(others) for others, _ in asked), default=0)
        rounds = [queries] + [
            [
                others[n] if n < len(others) else query
                for query, (others, _) in zip(queries, asked, strict=True)
            ]
            for n in range(most)
        ]
        tasks = {
            variant_name(name, number): _batch_task(retriever, one, depth)
            for number, one in enumerate(rounds)
            for name, retriever in self._opened.retrievers.items()
        }
        lists, dropped, _ = self._runner.run(tasks, _BATCH_SECONDS, cancel)
        results: list[SearchResult] = []
        for number, query in enumerate(queries):
            cancel.check()
            others, troubles = asked[number]
            own = {
                name: rankings[number]
                for name, rankings in lists.items()
                if variant_of(name) <= len(others)
            }
            found = self._finish(query, k, own, {}, cancel, tier=tier, explained=explained)
            results.append(
                SearchResult(
                    hits=found.hits,
                    dropped=(*self._opened.problems, *dropped, *troubles, *found.dropped),
                    problems=found.problems,
                    variant=found.variant,
                )
            )
        return results

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order, of the library or of a source that has been asked; else None."""
        online = self._online
        offered = [None if online is None else online.work(identifier) for identifier in ids]
        if self._library is None:
            return offered
        rows = self._library.rows_of(ids)
        known = [int(row) for row in rows if row >= 0]
        works = dict(zip(known, self._library.works(known), strict=True))
        return [works.get(int(row), other) for row, other in zip(rows, offered, strict=True)]

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this DOI, arXiv id, normalised title or source key."""
        if self._library is None:
            return []
        return self._library.lookup(doi=doi, arxiv=arxiv, title=title, bibkey=bibkey)

    def related(
        self, identifier: str, direction: Direction, k: int = 20, *, offset: int = 0
    ) -> Related:
        """The papers beside one in the citation graph."""
        if self._relations is None:
            return Related(problems=self._problems)
        return self._relations.related(identifier, direction, k, offset)

    def check(
        self, claims: Sequence[Claim], *, online: bool = False, cancel: Cancel | None = None
    ) -> Checks:
        """Is each reference real, and right, by the library and, if wanted, the sources?"""
        if online:
            return self._check_online(claims, cancel or Cancel())
        if self._library is None or self._check is None:
            return Checks(problems=self._problems)
        checks = self._check.check(claims, cancel or Cancel())
        return Checks(tuple(checks), self._library.snapshot)

    def _check_online(self, claims: Sequence[Claim], cancel: Cancel) -> Checks:
        from citewell.engine.online import OFF
        from citewell.engine.records import LibraryRecords
        from citewell.verification.checker import Checker
        from citewell.verification.online import OnlineChecker
        from citewell.verification.records import MemoryRecords

        if self._sources is None:
            return Checks(problems=(*self._problems, *_open_sources(self._options)[1]) or (OFF,))
        held = (
            MemoryRecords((), name="") if self._library is None else LibraryRecords(self._library)
        )
        checks = OnlineChecker(Checker([held]), self._sources).check(claims, cancel=cancel)
        return Checks(tuple(checks), "" if self._library is None else self._library.snapshot)

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Keep what an author accepted and dismissed, unless learning is off."""
        return () if self._history is None else self._history.learn(feedback)

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Which of the works the place of the query should cite; the first without a model."""
        if self._linguist is None:
            return Picked(work=works[0].id if works else "", problem=self._no_linguist())
        return self._linguist.pick(query, works, cancel or Cancel())

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence."""
        if self._linguist is None:
            return Supported(problem=self._no_linguist())
        return self._linguist.verify(sentence, work, cancel or Cancel())

    def _no_linguist(self) -> Problem:
        from citewell.engine.language import OFF

        known = (one for one in self._problems if one.code.startswith("llm-"))
        return next(known, OFF)

    def status(self) -> EngineStatus:
        """What answers and what does not."""
        library = self._library
        return EngineStatus(
            library="" if library is None else str(library.path),
            snapshot="" if library is None else library.snapshot,
            works=0 if library is None else len(library),
            retrievers=tuple(self._opened.retrievers),
            encoder=self._opened.encoder,
            ranker="" if self._ranker is None else self._ranker.name,
            cross_encoder="" if self._reader is None else self._reader.loaded,
            sources=() if self._sources is None else self._sources.names,
            llm="" if self._linguist is None else self._linguist.name,
            budget=Budget() if self._linguist is None else self._linguist.budget(),
            rss_mb=rss_mb(),
            pid=os.getpid(),
            problems=(
                *self._problems,
                *self._opened.problems,
                *(() if self._reader is None else self._reader.problems),
                *(() if self._history is None else self._history.problems),
            ),
        )

    def close(self) -> None:
        """Close the library's files, and ask the sources nothing more."""
        if self._history is not None:
            self._history.close()
        if self._reader is not None:
            self._reader.close()
        if self._linguist is not None:
            self._linguist.close()
        if self._online is not None:
            self._online.close()
        if self._sources is not None:
            self._sources.close()
        if self._library is not None:
            self._library.close()

    def _finish(
        self,
        query: Query,
        k: int,
        lists: Mapping[str, Ranking],
        timings: dict[str, float],
        cancel: Cancel,
        *,
        tier: Tier,
        explained: int | None = None,
    ) -> SearchResult:
        """Fuse the lists, order the head, and fetch what is shown."""
        assert self._library is not None
        begin = time.perf_counter()
        options = self._options.retrieval
        fused = fuse(lists, options.fusion, options.rrf_k)
        unwanted = self._unwanted(query)
        if len(unwanted):
            fused = _without(fused, unwanted)
        timings["fusion"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        ordering, problems = self._order(query, fused, cancel)
        timings["ranking"] = (time.perf_counter() - begin) * 1e3
        ranked = None if self._ranker is None or problems else ordering
        remembered = considered(self._history, query, fused.rows, ordering)
        if remembered is not None:
            ordering = remembered.ordering
        timings["history"] = (time.perf_counter() - begin) * 1e3 - timings["ranking"]
        read = None
        if tier != "fast" and self._reader is not None:
            head = fused.rows[ordering.order[: options.cross_encoder_depth]]
            read = self._reader.reorder(query, ordering, self._library.works(head), cancel)
            ordering = read.ordering
            timings[CROSS_ENCODER] = read.milliseconds
        asked = None
        if tier == "deep" and self._linguist is not None and self._options.llm.rerank != "none":
            head = fused.rows[ordering.order[: self._options.llm.rerank_depth]]
            asked = self._linguist.reorder(query, ordering, self._library.works(head), cancel)
            ordering = asked.ordering
            timings[asked.name] = asked.milliseconds
            read = None if read is None else _follow(read, asked)
        begin = time.perf_counter()
        shown = ordering.order[:k]
        works = self._library.works(fused.rows[shown])
        timings["records"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        hits = tuple(
            Hit(
                work=work,
                score=float(ordering.scores[place]),
                evidence=(
                    *(asked.evidence(place) if asked is not None else ()),
                    *(read.evidence(place) if read is not None else ()),
                    *(remembered.evidence(int(at)) if remembered is not None else ()),
                    *self._moved(ranked, int(at)),
                    *self._evidence(query, fused, int(at)),
                )
                if explained is None or place < explained
                else (),
                confidence=None
                if ordering.confidence is None
                else float(ordering.confidence[place]),
            )
            for place, (at, work) in enumerate(zip(shown, works, strict=True))
        )
        timings["evidence"] = (time.perf_counter() - begin) * 1e3
        dropped = tuple(
            stage.problem for stage in (read, asked) if stage is not None and stage.problem
        )
        made = "fusion" if ranked is None or self._ranker is None else self._ranker.name
        if remembered is not None:
            made = f"{made}+{HISTORY}"
        if read is not None and read.moved:
            made = f"{made}+{options.cross_encoder}"
        if asked is not None and asked.moved:
            made = f"{made}+{asked.made_by}"
        return SearchResult(hits=hits, dropped=dropped, problems=problems, variant=made)

    def _unwanted(self, query: Query) -> np.ndarray:
        """Rows that must not be offered: what is excluded, and the paper that is being written.

        A published paper finds itself first by its own title, and never cites itself.
        """
        assert self._library is not None
        rows = self._library.rows_of(query.exclude) if query.exclude else np.zeros(0, np.int64)
        if len(query.paper.title) < TELLING_TITLE:
            return rows
        return np.append(rows, self._library.by_title_rows(query.paper.title)).astype(np.int64)

    def _order(
        self, query: Query, fused: Fused, cancel: Cancel
    ) -> tuple[Ordering, tuple[Problem, ...]]:
        as_fused = Ordering(np.arange(len(fused.rows)), fused.scores)
        if self._ranker is None or not len(fused.rows):
            return as_fused, ()
        assert self._signals is not None
        candidates = Candidates(fused.rows, fused.scores, fused.ranks, fused.by)
        try:
            return self._ranker.rank(query, candidates, self._signals, cancel), ()
        except Cancelled:
            raise
        except CitewellError as error:
            return as_fused, (error.problem,)
        except Exception as error:
            logger.exception("The ranker failed")
            problem = Problem(
                "ranker-failed",
                f"The ranker {self._ranker.name!r} failed ({type(error).__name__}: {error}).",
                "The papers stand in the order of the fusion.",
            )
            return as_fused, (problem,)

    def _moved(self, ranked: Ordering | None, at: int) -> tuple[Evidence, ...]:
        """Where the ranker put the paper that stood at place `at` of the fused list."""
        if ranked is None or self._ranker is None:
            return ()
        place = int(np.flatnonzero(ranked.order == at)[0])
        if ranked.confidence is None and place == at:
            return ()  # a ranker that cannot judge leaves the order alone
        score = float(ranked.scores[place])
        return (Evidence(self._ranker.name, place + 1, score, before=at + 1),)

    def _evidence(self, query: Query, fused: Fused, at: int) -> tuple[Evidence, ...]:
        row = int(fused.rows[at])
        found: list[Evidence] = []
        for name, ranks in fused.ranks.items():
            if not ranks[at] or (variant_of(name) and found):
                continue  # other queries matter only for what the author's own does not find
            rank, score = int(ranks[at]), float(fused.by[name][at])
            if variant_of(name):
                found.append(Evidence(name, rank, score))
                continue
            try:
                found.append(self._opened.retrievers[name].explain(query, row, rank, score))
            except Exception:
                logger.exception("The retriever %s cannot explain a hit", name)
                found.append(Evidence(name, rank, score))
        return tuple(found)


def _open_linguist(options: Options) -> tuple[Linguist | None, tuple[Problem, ...]]:
    """The language model's stage; None, and no problem, where no model is named."""
    if options.llm.provider == "none":
        return None, ()
    from citewell.engine.language import Linguist

    try:
        return Linguist.open(options.llm), ()
    except CitewellError as error:
        return None, (error.problem,)


def _follow(read: Reread, asked: Reread) -> Reread:
    """What an earlier stage says of each place, after a later one has moved the papers."""
    if not asked.moved or not read.moved:
        return read
    old = {place + 1: moved for place, moved in enumerate(read.moved)}
    head = [old.get(moved.before) for moved in asked.moved]
    moved = (*(one for one in head if one is not None), *read.moved[len(asked.moved) :])
    return msgspec.structs.replace(read, moved=moved if None not in head else ())


def _open_sources(options: Options) -> tuple[Online | None, tuple[Problem, ...]]:
    """The allowed sources; None, and no problem, where none is allowed."""
    if not options.sources.allow:
        return None, ()
    from citewell.engine.online import shared

    try:
        sources = shared(options)
    except CitewellError as error:
        return None, (error.problem,)
    return sources, sources.problems


def _online_search(sources: Online | None) -> OnlineSearch | None:
    if sources is None:
        return None
    from citewell.engine.online_search import OnlineSearch

    return OnlineSearch(sources)


def _search_task(retriever: Retriever, query: Query, depth: int) -> Callable[[Cancel], Ranking]:
    return lambda cancel: retriever.search(query, depth, cancel)


def _batch_task(
    retriever: Retriever, queries: Sequence[Query], depth: int
) -> Callable[[Cancel], list[Ranking]]:
    return lambda cancel: retriever.search_batch(queries, depth)


def _without(fused: Fused, rows: np.ndarray) -> Fused:
    keep = ~np.isin(fused.rows, rows)
    return Fused(
        fused.rows[keep],
        fused.scores[keep],
        {name: rank[keep] for name, rank in fused.ranks.items()},
        {name: score[keep] for name, score in fused.by.items()},
    )
