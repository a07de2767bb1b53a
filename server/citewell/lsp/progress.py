"""Progress with a cancel button for what may take longer than a moment."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types

from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.lsp.server import Server
    from citewell.usecases.find import Progress

logger = logging.getLogger(__name__)

CREATE_SECONDS = 2.0
"""How long an editor may take to say that it shows the progress."""

Report = Callable[[str], None]
R = TypeVar("R")
_numbers = itertools.count(1)


async def with_progress(
    server: Server, title: str, job: Callable[[Report], Awaitable[R]]
) -> R | None:
    """Run a job while the editor shows that it runs; None when the author cancelled it.

    The job is given a function that says what it is doing. An editor without progress waits.
    """
    if not server.flags.progress:
        return await job(lambda message: None)
    progress = server.work_done_progress
    token = f"citewell-{next(_numbers)}"
    try:
        await asyncio.wait_for(asyncio.shield(_create(server, token)), CREATE_SECONDS)
    except Exception as error:
        logger.info("The editor shows no progress: %s", error)
        return await job(lambda message: None)
    progress.begin(token, types.WorkDoneProgressBegin(title=f"Citewell: {title}", cancellable=True))

    def report(message: str) -> None:
        progress.report(token, types.WorkDoneProgressReport(message=message, cancellable=True))

    task = asyncio.ensure_future(job(report))
    cancel = asyncio.wrap_future(progress.tokens[token])
    try:
        await asyncio.wait({task, cancel}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _stop(task)
            return None
        return task.result()
    except asyncio.CancelledError:
        await asyncio.shield(_stop(task))
        raise
    finally:
        cancelled = task.cancelled()
        cancel.cancel()
        progress.end(
            token, types.WorkDoneProgressEnd(message="Cancelled." if cancelled else "Done.")
        )
        progress.tokens.pop(token, None)


async def on_thread(job: Callable[[Progress, Cancel], R], report: Report) -> R:
    """Run a use case on a thread: what it is doing is reported, and cancelling the task ends it."""
    loop = asyncio.get_running_loop()
    cancel = Cancel()

    def progress(stage: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(report, f"{stage} ({done} of {total})")

    try:
        return await asyncio.to_thread(job, progress, cancel)
    except asyncio.CancelledError:
        cancel.set()
        raise


async def _stop(task: asyncio.Task[R]) -> None:
    """End a task, also one that a library kept from noticing the first time."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.05)


class DelayedProgress:
    """Progress of work that is under way already and that looks itself whether to stop."""

    def __init__(self, server: Server, token: str) -> None:
        self._progress = server.work_done_progress
        self._token = token
        self._cancel = asyncio.wrap_future(self._progress.tokens[token])

    @classmethod
    async def begin(cls, server: Server, title: str, message: str = "") -> DelayedProgress | None:
        """Show it; None where the editor shows none."""
        if not server.flags.progress:
            return None
        token = f"citewell-{next(_numbers)}"
        try:
            await asyncio.wait_for(asyncio.shield(_create(server, token)), CREATE_SECONDS)
        except Exception as error:
            logger.info("The editor shows no progress: %s", error)
            return None
        begin = types.WorkDoneProgressBegin(
            title=f"Citewell: {title}", cancellable=True, message=message or None
        )
        server.work_done_progress.begin(token, begin)
        return cls(server, token)

    async def is_cancelled(self, seconds: float) -> bool:
        """Wait for so long; True as soon as the author has pressed the button."""
        if not self._cancel.done():
            await asyncio.wait({self._cancel}, timeout=seconds)
        else:
            await asyncio.sleep(seconds)
        return self._cancel.done()

    def report(self, message: str, percentage: int | None = None) -> None:
        """Say how far it is."""
        told = types.WorkDoneProgressReport(
            message=message, percentage=percentage, cancellable=not self._cancel.done()
        )
        self._progress.report(self._token, told)

    def end(self, message: str) -> None:
        """Take it away."""
        self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))
        self._progress.tokens.pop(self._token, None)
        self._cancel.cancel()


async def _create(server: Server, token: str) -> None:
    # None, though pygls says that it is a future.
    _ = await server.work_done_progress.create_async(token)
