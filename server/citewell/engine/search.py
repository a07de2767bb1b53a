"""A search in one library: the author's query and others like it go to every retriever, and what
comes back through the cascade.

Queries alone share their time; a batch shares the retrievers' work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import msgspec

from citewell.engine.cascade import Cascade
from citewell.engine.contract import Tier
from citewell.engine.query_expansion import (
    ExpandedQueries,
    QueryExpansion,
    variant_name,
    variant_of,
)
from citewell.engine.retrievers import Opened
from citewell.engine.runs import Runner
from citewell.model import CitewellError, Problem, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.options.tree import RetrievalOptions
from citewell.retrieval.contract import Ranking, Retriever

_BATCH_SECONDS = 3600.0
TYPED_DEPTH = 0.6
"""Share of `retrieval.depth` for typed words: it pays for the closer look at fewer papers."""


class Search:
    """Over the retrievers of one library. Safe to call from any thread."""

    def __init__(
        self,
        options: RetrievalOptions,
        opened: Opened,
        others: QueryExpansion,
        cascade: Cascade,
        first_seconds: float = 0.0,
    ) -> None:
        """`first_seconds` are what the retrievers may take until one search has come back, where
        that is more than the settings allow: the first imports libraries and maps the indexes."""
        self._first_seconds = first_seconds
        self._options = options
        self._opened = opened
        self._typed = opened.typed if cascade.ranks else {}
        self._others = others
        self._cascade = cascade
        self._runner = Runner()

    def find(self, query: Query, k: int, tier: Tier, cancel: Cancel) -> SearchResult:
        """The best `k` works, and the milliseconds of each stage. Raises only `Cancelled`."""
        depth = self._depth(query, k)
        seconds = min(max(self._options.timeout_ms / 1e3, self._first_seconds), cancel.remaining)
        others = self._others.of(query, tier, cancel)
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
        expanded = [self._others.of(query, tier, cancel) for query in queries]
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
        """How many papers each retriever gives: one paper that is typed stands near the top."""
        depth = self._options.depth
        means_one = query.typed and not query.literature
        return max(k, round(TYPED_DEPTH * depth) if means_one else depth)

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
    """What was not searched as it should be, each once."""
    return list(dict.fromkeys(one.problem for one in rankings if one.problem is not None))


def _search_task(retriever: Retriever, query: Query, depth: int) -> Callable[[Cancel], Ranking]:
    return lambda cancel: retriever.search(query, depth, cancel)


def _batch_task(
    retriever: Retriever, queries: Sequence[Query], depth: int
) -> Callable[[Cancel], list[Ranking]]:
    return lambda cancel: retriever.search_batch(queries, depth, cancel)
