"""Answers queries: identifiers, filters without words, the search, and the sources' records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from citewell.corpus.card import not_held
from citewell.corpus.library import Library
from citewell.engine.contract import Tier
from citewell.engine.identified import Identified
from citewell.engine.listing import Listing
from citewell.engine.lookup import LookUp
from citewell.engine.query_preprocessor import QueryPreprocessor
from citewell.engine.retrievers import Opened
from citewell.engine.search import Search
from citewell.model import Problem, Query, SearchResult
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.engine.online_search import OnlineSearch


class Finder:
    """Answers queries to one library and the allowed sources. Safe to call from any thread."""

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
        """Of the last search that was no completion."""
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
        for answer, one, known in zip(named, read, listed, strict=True):
            if answer is not None:
                results.append(answer)
                continue
            assert one is not None
            query, understood = one
            result = self._with_empty_reason(query, next(found)) if known is None else known
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
        """An empty result with the filter that emptied it, or with what a library covers."""
        if result.hits or result.problems or self._opened.filters is None:
            return result
        problem = self._opened.filters.empty(query)
        if problem is None and self._library is not None:
            problem = not_held(self._library)
        return result if problem is None else msgspec.structs.replace(result, problems=(problem,))
