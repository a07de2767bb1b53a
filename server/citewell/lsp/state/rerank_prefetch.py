"""A better list for a placeholder whose words stand: found while the author looks at the first one.

The first list is the fast tier's (words, meaning, citations, ranker). Where a cross-encoder is set,
the full tier reads the best papers meanwhile; the next request for the same words, which an editor
sends at the closing bracket or when it is asked again, gets its order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from citewell.model import Query, SearchResult

logger = logging.getLogger(__name__)

PAUSE = 0.25
"""Seconds without another letter before the longer search begins."""

Search = Callable[[], Awaitable[SearchResult]]


class RerankPrefetch:
    """The one longer search that runs, or has run. For one event loop."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._query: Query | None = None
        self._task: asyncio.Task[SearchResult] | None = None

    def of(self, query: Query) -> SearchResult | None:
        """The better answer to exactly this query, if it is there."""
        task = self._task
        if query != self._query or task is None or not task.done() or task.cancelled():
            return None
        if task.exception() is not None:
            return None
        result = task.result()
        return result if result.hits and not result.problems else None

    def seek(self, query: Query, search: Search) -> None:
        """Begin the longer search, unless it is this query's already; an older one is given up."""
        if query == self._query and self._task is not None:
            return
        self.stop()
        self._query = query
        self._task = asyncio.ensure_future(self._later(search))

    def stop(self) -> None:
        """Give up whatever runs; cancelling reaches the worker."""
        if self._task is not None:
            self._task.cancel()
        self._query = self._task = None

    async def _later(self, search: Search) -> SearchResult:
        await asyncio.sleep(self._pause)
        with contextlib.suppress(Exception):
            return await search()
        logger.info("The longer search failed; the first list stands")
        return SearchResult()
