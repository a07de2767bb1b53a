"""Progress, with a cancel button, while large files and workspaces are read.

The reader thread reports its progress at each step; nothing is shown for the first second. Once
the author cancels, the thread abandons what it is reading, and anything else in this round that
takes longer than a moment: a .bib counts as unknown until it is opened or changes, and unread
files of a workspace until they are opened. The job that caused the reading then runs again with
what is available.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import Progress
from citewell.model.read_progress import ReadCancelled, watch_this_thread

logger = logging.getLogger(__name__)

BEFORE_SHOWN = 1.0
"""Seconds of reading before anything is shown."""
LOOK_SECONDS = 0.1
IDLE_SECONDS = 0.3
"""Seconds without reading after which everything counts as read."""
PATIENCE = 0.25
"""Seconds: what takes no longer is read even after the author cancelled."""
MAX_TRIES = 50
TITLE = "reading"

R = TypeVar("R")


class ReaderThread:
    """The reader thread, and what is shown of it. `begin`, `step` and `end` are the reader's, the
    others the event loop's."""

    def __init__(self, editor: Editor, on_cancel: Callable[[], Awaitable[None]]) -> None:
        """`on_cancel` is called once the author has cancelled something."""
        self._editor = editor
        self._on_cancel = on_cancel
        self._executor = ThreadPoolExecutor(
            1,
            thread_name_prefix="citewell-documents",
            initializer=watch_this_thread,
            initargs=(self,),
        )
        self._what = ""
        self._total = self._done = 0
        self._since = self._chain = self._ended = 0.0
        self._is_cancelled = False
        self._patience = 0.0
        self._jobs = 0
        self.is_closed = False
        """Whether the server ends: no further job is taken."""
        self._timer: asyncio.TimerHandle | None = None
        self._showing: asyncio.Task[None] | None = None

    # -- the reader's side --------------------------------------------------------------------

    def begin(self, what: str, total: int, done: int) -> None:
        """Start the progress: something is being read."""
        now = time.monotonic()
        if now - self._ended > IDLE_SECONDS:
            self._chain = now
        self._since = now
        self._total, self._done = total, done
        self._what = what

    def step(self) -> None:
        """One step more; raises `ReadCancelled` once the author has cancelled."""
        self._done += 1
        if self._is_cancelled and time.monotonic() - self._since > self._patience:
            # The next file may take a moment again.
            self._patience = PATIENCE
            raise ReadCancelled(self._what)

    def end(self) -> None:
        """Close the progress: the file has been read."""
        self._ended = time.monotonic()
        self._what = ""

    # -- the loop's side ----------------------------------------------------------------------

    async def run(self, job: Callable[[], R]) -> R:
        """Run a job on the reader thread; again when the author cancelled what it read. Cancelled
        once the thread is closed: the server ends."""
        loop = asyncio.get_running_loop()
        self._jobs += 1
        if self._timer is None and self._editor.flags.progress:
            self._timer = loop.call_later(BEFORE_SHOWN / 2, self._look)
        try:
            for _ in range(MAX_TRIES):
                if self.is_closed:
                    raise asyncio.CancelledError
                with contextlib.suppress(ReadCancelled):
                    return await loop.run_in_executor(self._executor, job)
            return await loop.run_in_executor(self._executor, job)
        finally:
            self._jobs -= 1

    def submit(self, job: Callable[..., Any], *arguments: Any) -> None:
        """Run a job on the reader thread without waiting for it; none once it is closed."""
        if not self.is_closed:
            self._executor.submit(job, *arguments)

    def close(self) -> None:
        """End the thread after its present job, whose reading is cancelled."""
        self.is_closed = True
        if self._showing is not None:
            self._showing.cancel()
        self._patience = 0.0
        self._is_cancelled = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        """Is there something to be shown? For the timer."""
        loop = asyncio.get_running_loop()
        self._timer = None
        if self._showing is not None and not self._showing.done():
            return
        if self._is_reading() and time.monotonic() - self._chain >= BEFORE_SHOWN:
            self._showing = asyncio.ensure_future(self._show())
        elif self._jobs or self._is_reading():
            self._timer = loop.call_later(LOOK_SECONDS, self._look)

    def _is_reading(self) -> bool:
        return bool(self._what) or time.monotonic() - self._ended < IDLE_SECONDS

    async def _show(self) -> None:
        progress = await Progress.begin(self._editor, TITLE, self._message())
        if progress is None:
            return
        shown = ""
        try:
            while self._is_reading():
                if await progress.is_cancelled(LOOK_SECONDS) and not self._is_cancelled:
                    logger.info("The author cancelled reading %s", self._what)
                    self._patience = 0.0
                    self._is_cancelled = True
                if (message := self._message()) and message != shown:
                    progress.report(shown := message, self._share())
        except asyncio.CancelledError:
            # The server is stopping: leave the reader cancelled, and do not notify the author.
            progress.end("Cancelled.")
            raise
        finally:
            self._showing = None
        was_cancelled, self._is_cancelled = self._is_cancelled, False
        progress.end("Cancelled." if was_cancelled else "Done.")
        if was_cancelled:
            await self._on_cancel()

    def _message(self) -> str:
        what, done, total = self._what, self._done, self._total
        return f"{what} ({done:,} of {total:,})" if what and total else what

    def _share(self) -> int | None:
        return min(100, 100 * self._done // self._total) if self._total else None
