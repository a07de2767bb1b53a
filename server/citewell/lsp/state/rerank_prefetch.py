"""A better list for a placeholder that is complete, found while the author reads the first one.

The first list is that of the fast tier (words, meaning, citations, ranker). If a cross-encoder is
set, the full tier meanwhile reads the best papers. The next request for the same words, which an
editor sends at the closing bracket or when completion is invoked again, gets the better order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from citewell.model import Query, SearchResult

logger = logging.getLogger(__name__)

PAUSE = 0.5
"""Seconds without another letter before the longer search begins: many authors need up to half a
second for a letter, whose own search would then wait for this one."""

Search = Callable[[], Awaitable[SearchResult]]


class RerankPrefetch:
    """The one longer search that is running or has finished. For one event loop."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._query: Query | None = None
        self._task: asyncio.Task[SearchResult] | None = None

    def of(self, query: Query) -> SearchResult | None:
        """The better result for exactly this query; None if there is none (yet)."""
        task = self._task
        if query != self._query or task is None or not task.done() or task.cancelled():
            return None
        if task.exception() is not None:
            return None
        result = task.result()
        return result if result.hits and not result.problems else None

    def seek(self, query: Query, search: Search) -> None:
        """Start the longer search, unless it is already for this query; cancel an older one."""
        if query == self._query and self._task is not None:
            return
        self.stop()
        self._query = query
        self._task = asyncio.ensure_future(self._later(search))

    def stop(self) -> None:
        """Cancel the search that is running, if any, in the worker as well."""
        if self._task is not None:
            self._task.cancel()
        self._query = self._task = None

    async def _later(self, search: Search) -> SearchResult:
        await asyncio.sleep(self._pause)
        with contextlib.suppress(Exception):
            return await search()
        logger.info("The longer search failed; the first list stands")
        return SearchResult()
