"""Progress with a cancel button for what may take longer than a moment."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.lsp.server import Server

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
            task.cancel()
            await asyncio.wait({task})
            return None
        return task.result()
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        cancelled = task.cancelled()
        cancel.cancel()
        progress.end(
            token, types.WorkDoneProgressEnd(message="Cancelled." if cancelled else "Done.")
        )
        progress.tokens.pop(token, None)


async def _create(server: Server, token: str) -> None:
    await server.work_done_progress.create_async(token)
