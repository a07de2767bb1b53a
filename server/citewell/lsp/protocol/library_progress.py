"""Progress, with a cancel button, while the library opens."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from citewell.engine.exchange import LATE
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import Progress

if TYPE_CHECKING:
    from citewell.engine.worker_client import WorkerEngine

logger = logging.getLogger(__name__)

BEFORE_SHOWN = 1.0
"""Seconds of opening before anything is shown."""
LOOK_SECONDS = 0.1


class LibraryProgress:
    """Watches the engine's process come up. For one event loop."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._task: asyncio.Task[None] | None = None

    def watch(self, engine: WorkerEngine, name: str) -> None:
        """Watch the engine open the library of that name."""
        self.stop()
        if self._editor.flags.progress:
            self._task = asyncio.ensure_future(self._watch(engine, name))

    def stop(self) -> None:
        """Stop watching; the library continues to open."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self, engine: WorkerEngine, name: str) -> None:
        opened = asyncio.ensure_future(_opened(engine))
        progress = None
        try:
            await asyncio.wait({opened}, timeout=BEFORE_SHOWN)
            if opened.done():
                return
            progress = await Progress.begin(self._editor, f"opening the library {name}")
            while progress is not None and not opened.done():
                if await progress.is_cancelled(LOOK_SECONDS):
                    logger.info("The author does not wait for the library")
                    engine.stop()
                    return
        finally:
            if progress is not None:
                progress.end("Done." if opened.done() else "Cancelled.")
            opened.cancel()


async def _opened(engine: WorkerEngine) -> None:
    """Returns when the engine answers, however late."""
    while any(problem.code == LATE.code for problem in (await engine.status_async()).problems):
        await asyncio.sleep(LOOK_SECONDS)
