"""A synchronous interface to the sources: one event loop on a separate thread.

Nothing here is imported before the user has allowed a source and a request is due.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Any, TypeVar

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.installing import install_command
from citewell.model.query import Direction
from citewell.options import Options
from citewell.options.online import SourceOptions
from citewell.sources.contract import Answer, Conditions, SourceQuery
from citewell.sources.registry import allowed
from citewell.sources.service import ONLINE_SECONDS, SourceAnswers, Sources, TimeBudget

T = TypeVar("T")

PACKAGES = (
    "httpx2", "hishel", "tenacity", "defusedxml", "anysqlite", "tomlkit"
)  # fmt: skip
"""Packages of the extra `online`."""
STEP = 0.05
"""Seconds between two checks of the cancellation."""

OFF = Problem(
    "sources-off",
    "No scholarly source is allowed; nothing was sent.",
    "`citewell sources` shows what each would receive; `citewell sources allow NAME...` allows it.",
)


def missing_package() -> Problem | None:
    """The problem that the extra `online` is not installed, if it is not."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if not missing:
        return None
    return Problem(
        "sources-missing",
        f"Scholarly sources need the packages {', '.join(missing)}.",
        f"Run `{install_command('online')}`.",
    )


class Online:
    """The allowed sources. Thread-safe; requests share rate limits, circuit breaker and cache."""

    def __init__(self, options: Options) -> None:
        """Set the sources; nothing is opened yet. Raises `CitewellError` when no source is allowed,
        or none is usable."""
        names, problems = allowed(options.sources.allow)
        if not names:
            raise CitewellError(problems[0] if problems else OFF)
        if (problem := missing_package()) is not None:
            raise CitewellError(problem)
        self.names = names
        self.problems = problems
        self._options = options
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        """Runs the loop, and closes it at the end."""
        self._sources: Sources | None = None
        self._web: Any = None
        self._closed = False

    def within(self, seconds: float | None) -> OnlineAct:
        """The sources for one operation, which ends after `seconds` with the answers received by
        then. None sets no limit.
        """
        return OnlineAct(self, seconds)

    def search(
        self, text: str, limit: int, budget: TimeBudget | None = None
    ) -> Future[list[Answer]]:
        """Search the sources for words. Never blocks."""
        return self._submit(lambda sources: sources.search(text, limit, budget))

    def search_each(
        self,
        texts: Mapping[str, str],
        where: Conditions,
        limit: int,
        budget: TimeBudget,
        cancel: Cancel,
    ) -> list[Answer]:
        """Search each named source for its own text. Raises only `Cancelled`."""
        return self.wait(lambda sources: sources.search_each(texts, where, limit, budget), cancel)

    def links(
        self, wanted: Sequence[SourceQuery], limit: int, budget: TimeBudget, cancel: Cancel
    ) -> list[list[tuple[Direction, Answer]]]:
        """References and citers of works. Raises only `Cancelled`."""
        return self.wait(lambda sources: sources.links(wanted, limit, budget), cancel)

    def look_up(
        self, wanted: SourceQuery, budget: TimeBudget | None = None
    ) -> Future[list[Answer]]:
        """Look up a DOI or arXiv identifier at the sources. Never blocks."""

        async def ask(sources: Sources) -> list[Answer]:
            (answers,) = await sources.by_ids([wanted], budget)
            return list(answers.all)

        return self._submit(ask)

    def reach(self, cancel: Cancel | None = None) -> dict[str, Answer]:
        """Whether each source answers now."""
        budget = TimeBudget(ONLINE_SECONDS)
        return self.wait(lambda sources: sources.reach(budget), cancel)

    def close(self) -> None:
        """Abandon pending requests, and close connections and cache."""
        with self._lock:
            self._closed = True
            loop, web, thread = self._loop, self._web, self._thread
            self._loop = self._sources = self._web = None
        if loop is None:
            return

        async def end() -> None:
            own = asyncio.current_task()
            tasks = [task for task in asyncio.all_tasks() if task is not own]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await web.aclose()

        try:
            asyncio.run_coroutine_threadsafe(end(), loop).result(5.0)
        except (TimeoutError, FutureCancelled):
            pass
        finally:
            loop.call_soon_threadsafe(loop.stop)
            if thread is not None:
                thread.join(1.0)

    @property
    def is_closed(self) -> bool:
        """True once no more requests are possible."""
        return self._closed

    def wait(self, ask: Callable[[Sources], Coroutine[Any, Any, T]], cancel: Cancel | None) -> T:
        """Query the sources and wait. Raises only `Cancelled`."""
        future = self._submit(ask)
        while True:
            try:
                return future.result(STEP if cancel is not None else None)
            except TimeoutError:
                if future.done():
                    raise
                if cancel is not None and cancel.is_set:
                    future.cancel()
                    raise Cancelled from None
            except FutureCancelled:
                raise Cancelled from None

    def _submit(self, ask: Callable[[Sources], Coroutine[Any, Any, T]]) -> Future[T]:
        with self._lock:
            if self._closed:
                raise Cancelled
            if self._loop is None:
                self._open()
            assert self._loop is not None and self._sources is not None
            return asyncio.run_coroutine_threadsafe(ask(self._sources), self._loop)

    def _open(self) -> None:
        from citewell.options.folders import sources_folder
        from citewell.sources.registry import classes
        from citewell.sources.web.client import Web, WebOptions

        own = self._options.sources
        folder = sources_folder()
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=_run, args=(loop,), name="citewell-sources", daemon=True
        )
        self._thread.start()
        options = WebOptions(
            contact=own.contact,
            base_url=own.base_url,
            cache=folder,
            pace=folder,
            cache_days=own.cache_days,
            timeout=own.timeout_s,
        )

        async def make() -> Web:
            # Rate limits and cache belong to the loop that creates them.
            return Web(classes(self.names), options)

        self._web = asyncio.run_coroutine_threadsafe(make(), loop).result()
        self._sources = Sources(self.names, self._web)
        self._loop = loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped."""
    try:
        loop.run_forever()
    finally:
        loop.close()


class OnlineAct:
    """The sources for one operation, with one deadline for all its requests."""

    def __init__(self, online: Online, seconds: float | None) -> None:
        self.names = online.names
        self._online = online
        self._budget = TimeBudget(seconds)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems that name the sources that did not answer in time."""
        return self._budget.problems

    def by_ids(
        self, wanted: Sequence[SourceQuery], cancel: Cancel | None = None
    ) -> list[SourceAnswers]:
        """Look up DOIs and arXiv identifiers. Raises only `Cancelled`."""
        return self._online.wait(lambda sources: sources.by_ids(wanted, self._budget), cancel)

    def notices(
        self, dois: Sequence[str], cancel: Cancel | None = None
    ) -> list[tuple[Answer, ...]]:
        """The records of DOIs from a source that reports retractions. Raises only `Cancelled`."""
        return self._online.wait(lambda sources: sources.notices(dois, self._budget), cancel)

    def match(
        self,
        wanted: Sequence[SourceQuery],
        done: Callable[[int], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[SourceAnswers]:
        """Look up titles. Raises only `Cancelled`."""
        return self._online.wait(lambda sources: sources.match(wanted, done, self._budget), cancel)


_SHARED: dict[SourceOptions, Online] = {}
_SHARED_LOCK = threading.Lock()


def shared(options: Options) -> Online:
    """The sources for these settings, shared by the whole process, so that an engine reopened for
    another snapshot of the library respects the rate limits of its predecessor."""
    with _SHARED_LOCK:
        known = _SHARED.get(options.sources)
        if known is None or known.is_closed:
            known = _SHARED[options.sources] = Online(options)
        return known
