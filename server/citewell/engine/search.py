"""A search in one library: the author's query and further ones go to every retriever, and the
results through the cascade.

Queries alone share their time; a batch shares the retrievers' work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from citewell.corpus.arrays import is_among
from citewell.corpus.card import not_held, not_known
from citewell.corpus.library import Library
from citewell.engine.cascade import Cascade
from citewell.engine.contract import Tier
from citewell.engine.identified import Identified
from citewell.engine.lookup import LookUp
from citewell.engine.query_preprocessor import (
    ExpandedQueries,
    QueryPreprocessor,
    expand,
    variant_name,
    variant_of,
)
from citewell.engine.retrievers import Opened
from citewell.engine.threads import Runner
from citewell.model import CitewellError, CitingPaper, Evidence, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.query import FILTERS, MARK
from citewell.options.tree import RetrievalOptions
from citewell.ranking.identity import UNDECIDED
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.opening import live_rows
from citewell.retrieval.words import split

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage
    from citewell.engine.online_search import OnlineSearch

_BATCH_SECONDS = 3600.0
DEPTH = 400
"""Number of papers from each retriever."""
TYPED_DEPTH = 0.6
"""Share of `DEPTH` for typed words: fewer papers, in exchange for a closer look."""


class Search:
    """Queries the retrievers of one library. Thread-safe."""

    def __init__(
        self,
        options: RetrievalOptions,
        opened: Opened,
        llm_stage: LlmStage | None,
        cascade: Cascade,
        first_seconds: float = 0.0,
    ) -> None:
        """`llm_stage` writes further queries. `first_seconds` is the time limit of the retrievers
        until a first search has finished, if it exceeds that of the settings: the first search
        imports libraries and maps the indexes."""
        self._first_seconds = first_seconds
        self._options = options
        self._opened = opened
        self._typed = opened.typed if cascade.ranks else {}
        self._llm_stage = llm_stage
        self._cascade = cascade
        self._runner = Runner()

    def find(self, query: Query, k: int, tier: Tier, cancel: Cancel) -> SearchResult:
        """The best `k` works, and the milliseconds of each stage. Raises only `Cancelled`."""
        depth = self._depth(query, k)
        seconds = min(max(self._options.timeout_ms / 1e3, self._first_seconds), cancel.remaining)
        others = expand(self._llm_stage, query, tier, cancel)
        searches = {
            variant_name(name, number): (retriever, one)
            for number, one in enumerate((query, *others.queries))
            for name, retriever in self._opened.retrievers.items()
        }
        if query.typed:
            searches |= {name: (retriever, query) for name, retriever in self._typed.items()}
        tasks = {
            name: _search_task(retriever, one, depth) for name, (retriever, one) in searches.items()
        }
        waiting = {name for name, (retriever, _) in searches.items() if retriever.waits}
        scans = [name for name, (one, _) in searches.items() if one.scans and not one.waits]
        here = scans[:1] + [name for name, (one, _) in searches.items() if one.is_short and scans]
        lists, late, timings = self._runner.run(tasks, seconds, cancel, waiting=waiting, here=here)
        self._first_seconds = 0.0
        late += _problems_of(lists.values())
        try:
            result = self._cascade.run(query, k, lists, timings, cancel, tier=tier)
        except CitewellError as error:
            result = SearchResult(problems=(error.problem,))
        return self._with_problems(result, others, late, timings)

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int,
        tier: Tier,
        cancel: Cancel,
        explained: int | None = None,
    ) -> list[SearchResult]:
        """The best `k` works for each query, in order, without timings.

        Only the first `explained` hits carry their evidence; None: all of them.
        """
        depth = max((self._depth(query, k) for query in queries), default=k)
        expanded = [expand(self._llm_stage, query, tier, cancel) for query in queries]
        most = max((len(others.queries) for others in expanded), default=0)
        rounds = [queries] + [
            [
                others.queries[n] if n < len(others.queries) else query
                for query, others in zip(queries, expanded, strict=True)
            ]
            for n in range(most)
        ]
        tasks = {
            variant_name(name, number): _batch_task(retriever, one, depth)
            for number, one in enumerate(rounds)
            for name, retriever in self._opened.retrievers.items()
        }
        if any(query.typed for query in queries):
            for name, retriever in self._typed.items():
                tasks[name] = _batch_task(retriever, queries, depth)
        lists, late, _ = self._runner.run(tasks, _BATCH_SECONDS, cancel)
        late += _problems_of(chain.from_iterable(lists.values()))
        results: list[SearchResult] = []
        for number, query in enumerate(queries):
            cancel.check()
            others = expanded[number]
            own = {
                name: rankings[number].head(self._depth(query, k))
                for name, rankings in lists.items()
                if variant_of(name) <= len(others.queries)
            }
            found = self._cascade.run(query, k, own, {}, cancel, tier=tier, explained=explained)
            results.append(self._with_problems(found, others, late, {}))
        return results

    def _depth(self, query: Query, k: int) -> int:
        """Number of papers from each retriever: a single typed paper is near the top."""
        means_one = query.typed and not query.literature
        return max(k, round(TYPED_DEPTH * DEPTH) if means_one else DEPTH)

    def _with_problems(
        self,
        result: SearchResult,
        others: ExpandedQueries,
        late: Sequence[Problem],
        timings: dict[str, float],
    ) -> SearchResult:
        return msgspec.structs.replace(
            result,
            variant="+".join((result.variant, *others.made_by)) if result.variant else "",
            dropped=(*self._opened.problems, *late, *others.problems, *result.dropped),
            timings=timings,
            queries=tuple(one.text or one.sentence for one in others.queries),
        )


def _problems_of(rankings: Iterable[Ranking]) -> list[Problem]:
    """Problems of the searches, each once."""
    return list(dict.fromkeys(one.problem for one in rankings if one.problem is not None))


def _search_task(retriever: Retriever, query: Query, depth: int) -> Callable[[Cancel], Ranking]:
    return lambda cancel: retriever.search(query, depth, cancel)


def _batch_task(
    retriever: Retriever, queries: Sequence[Query], depth: int
) -> Callable[[Cancel], list[Ranking]]:
    return lambda cancel: retriever.search_batch(queries, depth, cancel)


# Papers that pass the filters of a query without words, the most cited first.


class Listing:
    """Lists papers of one library. Thread-safe."""

    def __init__(self, library: Library, opened: Opened) -> None:
        self._library = library
        self._filters = opened.filters
        self._cited = opened.of(CitationContextRetriever)

    def of(self, query: Query, k: int) -> SearchResult | None:
        """The best `k`, by citations, then the newest; None without filters."""
        mask = None if self._filters is None else self._filters(query)
        if mask is None or self._filters is None:
            return None
        rows = np.flatnonzero(mask & live_rows(self._library))
        try:
            rows = rows[~is_among(rows, self._library.rows_of(query.exclude))]
            if not len(rows):
                empty = self._filters.empty(query)
                return SearchResult(problems=() if empty is None else (empty,))
            often = self._often(rows)
            years = self._library.columns().year[rows]
            best = np.lexsort((rows, -years.astype(np.int32), -often))[:k]
            works = self._library.works(rows[best], whole=True)
        except CitewellError as error:
            return SearchResult(problems=(error.problem,))
        hits = tuple(
            Hit(
                work=work,
                score=float(often[at]),
                evidence=(Evidence(FILTERS, n, float(often[at])),),
            )
            for n, (at, work) in enumerate(zip(best, works, strict=True), 1)
        )
        return SearchResult(hits=hits, variant=FILTERS)

    def _often(self, rows: np.ndarray) -> np.ndarray:
        """The logarithm of one more than each row's number of citations."""
        citations: np.ndarray = np.log1p(np.maximum(self._library.columns().citations[rows], 0))
        if self._cited is None:
            return citations
        return np.asarray(np.maximum(citations, self._cited.popularity[rows]))


# Answers queries: identifiers, filters without words, searches, and the sources' records.


class Finder:
    """Answers queries to one library and the allowed sources. Thread-safe."""

    def __init__(
        self,
        search: Search | None,
        library: Library | None,
        opened: Opened,
        problems: tuple[Problem, ...],
        *,
        typed: QueryPreprocessor,
        lookup: LookUp,
        online: OnlineSearch | None,
    ) -> None:
        """`search` is None without a library; `problems` then explain every empty result."""
        self._search = search
        self._library = library
        self._opened = opened
        self._problems = problems
        self._typed = typed
        self._lookup = lookup
        self._online = online
        missing = problems if library is None else ()
        self.timings: dict[str, float] = {}
        """Milliseconds of the stages of the last search other than a completion."""
        self._identified = Identified(lookup, online, missing, lookup.held)
        self._listing = None if library is None else Listing(library, opened)

    def find(self, query: Query, k: int, tier: Tier, cancel: Cancel) -> SearchResult:
        """The best `k` works for the query. Raises only `Cancelled`."""
        named = self._identified.answer(query)
        if named is not None:
            return named
        if self._search is None:
            return self._with_online(SearchResult(problems=self._problems), query, k)
        begin = time.perf_counter()
        parsed, understood = self._typed.read(query)
        found = self._filtered(parsed, k)
        if found is None:
            found = self._with_empty_reason(parsed, self._search.find(parsed, k, tier, cancel))
        found = _doubted(query, parsed, found)
        result = self._with_online(found, msgspec.structs.replace(parsed, text=query.text), k)
        spent = {**found.timings, "total": (time.perf_counter() - begin) * 1e3}
        timings = {stage: round(one, 2) for stage, one in spent.items()}
        if tier != "fast":
            self.timings = timings
        return msgspec.structs.replace(
            result,
            understood=understood,
            conditions=parsed.typed_query,
            timings=timings,
        )

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int,
        tier: Tier,
        cancel: Cancel,
        explained: int | None,
    ) -> list[SearchResult]:
        """The best `k` works for each query, in order; see `LocalEngine.find_batch`."""
        if self._search is None:
            return [SearchResult(problems=self._problems) for _ in queries]
        named = [self._identified.answer(query) for query in queries]
        read = [
            self._typed.read(query, waits=True) if answer is None else None
            for query, answer in zip(queries, named, strict=True)
        ]
        listed = [None if one is None else self._filtered(one[0], k) for one in read]
        parsed = [one[0] for one, known in zip(read, listed, strict=True) if one and known is None]
        found = iter(self._search.find_batch(parsed, k, tier, cancel, explained))
        results: list[SearchResult] = []
        for original, answer, one, known in zip(queries, named, read, listed, strict=True):
            if answer is not None:
                results.append(answer)
                continue
            assert one is not None
            query, understood = one
            result = self._with_empty_reason(query, next(found)) if known is None else known
            result = _doubted(original, query, result)
            conditions = query.typed_query
            results.append(
                msgspec.structs.replace(result, understood=understood, conditions=conditions)
            )
        return results

    def with_sources(self, query: Query, result: SearchResult, k: int) -> SearchResult:
        """The result joined with what the sources have found for the query's words so far."""
        named = self._identified.answer(query)
        if named is not None:
            return named
        parsed = self._typed.read(query)[0]
        return self._with_online(result, msgspec.structs.replace(parsed, text=query.text), k)

    def _with_online(self, result: SearchResult, query: Query, k: int) -> SearchResult:
        """The result with the sources' answers so far; if there are none, they are requested."""
        if self._online is None:
            return result
        from citewell.engine.online_search import joined

        late = self._online.offer(query.text)
        if not late.works and not late.problems:
            return result
        return msgspec.structs.replace(
            result,
            hits=joined(result.hits, late, query, k, self._lookup.held),
            dropped=(*result.dropped, *late.problems),
        )

    def _filtered(self, query: Query, k: int) -> SearchResult | None:
        """The papers that pass the filters of a query without words; None for any other."""
        if self._listing is None or query.text.strip() or query.sentence:
            return None
        return self._listing.of(query, k)

    def _with_empty_reason(self, query: Query, result: SearchResult) -> SearchResult:
        """An empty result with its reason: a filter, no words, or what a library covers; a doubtful
        one with the typed words that the library lacks."""
        if result.problems or self._opened.filters is None:
            return result
        if result.hits:
            best = result.hits[0].confidence
            doubtful = _is_bare(query) and best is not None and best < UNDECIDED
            lacking = self._typed.unknown_words(query.text) if doubtful else []
            problem = not_known(lacking) if lacking else None
        else:
            problem = self._opened.filters.empty(query)
            if problem is None and not split(f"{query.text} {query.sentence.replace(MARK, '')}"):
                problem = _WORDLESS
            elif problem is None and self._library is not None:
                problem = not_held(self._library)
        return result if problem is None else msgspec.structs.replace(result, problems=(problem,))


def _is_bare(query: Query) -> bool:
    """True for typed words without a document: its own entries may answer them."""
    context = query.sentence or query.paper != CitingPaper() or query.literature
    return query.typed and not context


_WORDLESS = Problem(
    "query-wordless", "The query has no words.", "Send the sentence with the place, or a title."
)


def _doubted(original: Query, parsed: Query, result: SearchResult) -> SearchResult:
    """The result; if the typed words are only a filter ("ACL", "NEW") and name no paper, without
    confidence in any of them."""
    if not original.typed or parsed.text.strip() or not result.hits:
        return result
    hits = [
        hit
        if hit.confidence is None
        else msgspec.structs.replace(hit, confidence=min(hit.confidence, UNDECIDED))
        for hit in result.hits
    ]
    return msgspec.structs.replace(result, hits=tuple(hits))
