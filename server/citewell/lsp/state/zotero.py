"""The running Zotero as a live bibliography: its export is cached here, and requested repeatedly.

Requests are sent only if `zotero.live` is on, and never beyond this machine. Zotero is asked when
the server starts and while an author cites. No export begins before the last one is
`zotero.refreshS` seconds old or, if it was slow, before twenty times its duration has passed. Words
that match nothing are looked up separately, so that an item that was just added is available a
moment later. While Zotero is closed, the last export remains in use.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from citewell.model import Problem
from citewell.options.tree import ZoteroOptions

if TYPE_CHECKING:
    from citewell.features.citing.insert import ZoteroLibrary
    from citewell.model.bib import BibEntry, BibFile

logger = logging.getLogger(__name__)

PULL_SECONDS = 120.0
"""Seconds; the first export writes some hundred items a second."""
MAX_BYTES = 128 << 20
ENTRY_SECONDS = 1.5
"""Seconds that accepting an entry waits for Zotero before the cached one is used."""
SEARCH_SECONDS = 5.0
SEARCH_PAUSE = 1.0
"""Seconds between two look-ups of words without a match."""
MIN_LETTERS = 3
EASE = 20.0
"""Pause before the next export, as a multiple of the last one's duration."""

ShowProblems = Callable[[Sequence[Problem]], None]
R = TypeVar("R")


class Zotero:
    """The one live source. Its tables belong to the event loop."""

    def __init__(self, show_problems: ShowProblems) -> None:
        self._show_problems = show_problems
        self._options = ZoteroOptions()
        self._closed = threading.Event()
        self._pulling: asyncio.Task[None] | None = None
        self._searching: asyncio.Task[None] | None = None
        self._due = 0.0
        self._search_due = 0.0
        self._took = 0.0
        self._elsewhere: set[str] = set()
        """Keys that Zotero finds but does not export: those of other libraries."""
        self.zotero_library: ZoteroLibrary | None = None
        """The last export; None while there is none."""
        self.problem: Problem | None = None
        """Why the last request failed; None if it succeeded."""

    def configure(self, options: ZoteroOptions) -> None:
        """Apply the settings; the first export is requested at once."""
        if options == self._options:
            return
        source = (options.url, options.collection, options.format)
        if not options.live or source != (
            self._options.url, self._options.collection, self._options.format,
        ):  # fmt: skip
            self.zotero_library = self.problem = None
            self._elsewhere.clear()
        self._options = options
        self._due = 0.0
        if self._pulling is not None:
            self._pulling.cancel()
            self._pulling = None
        self.wake()

    def close(self) -> None:
        """Cancel the requests that are running, and send no more."""
        self._closed.set()
        for task in (self._pulling, self._searching):
            if task is not None:
                task.cancel()

    def wake(self, unfound: str = "") -> None:
        """Request an export again if it is due, since the author cites. `unfound` are words without
        a match here."""
        if not self._options.live or self._closed.is_set():
            return
        now = time.monotonic()
        if now >= self._due and not _runs(self._pulling):
            self._pulling = asyncio.ensure_future(self._pull())
        elif (
            len(unfound) >= MIN_LETTERS
            and self.zotero_library is not None
            and not self._options.collection
            and now >= self._search_due
            and not _runs(self._searching)
            and not _runs(self._pulling)
        ):
            self._searching = asyncio.ensure_future(self._seek(unfound))

    def entry(self, key: str) -> BibEntry | None:
        """The entry with a key in the last export."""
        return self.zotero_library.entry(key) if self.zotero_library is not None else None

    def entry_text(self, key: str) -> str:
        """The text of the entry with a key; empty if there is none."""
        entry = self.entry(key)
        return entry.body.text if entry is not None else ""

    async def fresh_entry(self, key: str) -> BibFile | None:
        """A bibliography with the current entry of a key from Zotero or, if it does not answer at
        once, from the last export; None if there is none."""
        from citewell.sources import local

        held = self.zotero_library
        if held is None:
            return None
        options = self._options
        if options.live and not options.collection and not self._closed.is_set():

            def ask() -> ZoteroLibrary | None:
                text = local.export(options.url, key, options.format, seconds=ENTRY_SECONDS)
                return None if isinstance(text, Problem) else _zotero_library(text, None)

            now = await _in_thread(ask)
            if now is not None and now.entry(key) is not None:
                return now.bib
        return held.bib

    def state(self) -> dict[str, Any]:
        """The state for `citewell.status`."""
        problem = self.problem
        return {
            "live": self._options.live,
            "entries": len(self.zotero_library) if self.zotero_library is not None else 0,
            "problem": problem and {"code": problem.code, "message": problem.message},
        }

    async def _pull(self) -> None:
        from citewell.sources import local

        options, before = self._options, self.zotero_library

        def pull() -> ZoteroLibrary | Problem:
            start = time.monotonic()
            data = local.pull(
                options.url,
                options.collection.strip("/"),
                options.format,
                seconds=PULL_SECONDS,
                max_bytes=MAX_BYTES,
                is_cancelled=self._closed.is_set,
            )
            self._took = time.monotonic() - start
            if isinstance(data, Problem):
                return data
            try:
                return _zotero_library(data.decode("utf-8-sig"), before)
            except UnicodeDecodeError:
                message = "Better BibTeX did not send text."
                return Problem("zotero-refused", message, "Update Better BibTeX.")

        self._due = time.monotonic() + options.refresh_s
        found = await _in_thread(pull)
        self._due = time.monotonic() + max(options.refresh_s, EASE * self._took)
        if isinstance(found, Problem):
            logger.info("%s", found)
            self.problem = found
            if self.zotero_library is None:
                self._show_problems([found])
        else:
            self.zotero_library, self.problem = found, None
            logger.info("Zotero has %d entries (%.2f s)", len(found), self._took)

    async def _seek(self, words: str) -> None:
        """Request an export again if Zotero finds an item that the last one lacks."""
        from citewell.sources import local

        url = self._options.url
        found = await _in_thread(lambda: local.search(url, words, seconds=SEARCH_SECONDS))
        self._search_due = time.monotonic() + SEARCH_PAUSE
        if isinstance(found, Problem):
            self.problem = found
            return
        new = {key for key in found if self.entry(key) is None} - self._elsewhere
        if new:
            self._search_due += EASE * self._took
            self._elsewhere |= new
            self._due = 0.0
            self.wake()


def _runs(task: asyncio.Task[None] | None) -> bool:
    return task is not None and not task.done()


def _zotero_library(text: str, before: ZoteroLibrary | None) -> ZoteroLibrary:
    from citewell.features.citing.insert import ZoteroLibrary

    return ZoteroLibrary.of(text, before)


async def _in_thread(job: Callable[[], R]) -> R:
    """Run a job on its own thread, which shutdown does not wait for: Zotero may be slow."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def give(result: R | None, error: BaseException | None) -> None:
        if not future.done():
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failed = None, None
        try:
            result = job()
        except Exception as error:
            failed = error
        try:
            loop.call_soon_threadsafe(give, result, failed)
        except RuntimeError:
            logger.debug("The server has stopped")

    threading.Thread(target=run, name="citewell-zotero", daemon=True).start()
    return await future
