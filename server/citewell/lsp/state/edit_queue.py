"""The author's edits, one at a time, and what the engine learns from those that were made."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edit_applier import StaleEditError
from citewell.lsp.protocol.editor import Editor
from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.model.feedback import Feedback

logger = logging.getLogger(__name__)

RETRIES = 5
"""How often an edit is planned, at most, if a document changes meanwhile."""


class EditQueue:
    """Edits that are planned and made one after the other. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers, engine: WorkerEngine) -> None:
        self._editor = editor
        self._buffers = buffers
        self._engine = engine
        self.lock = asyncio.Lock()
        """Held from planning an edit to its end, so that two never work from the same text."""

    async def run(
        self,
        edit: Callable[[list[Feedback]], Awaitable[dict[str, Any]]],
        failed: Callable[[Exception], Problem],
    ) -> dict[str, Any]:
        """Make an edit while no other one is being made; returns what `edit` returns.

        An error is shown to the author; nothing was changed then, and `applied` is False.
        What `edit` adds to its list is learned once the editor has applied the edit.
        """
        learned: list[Feedback] = []
        done: dict[str, Any] = {"applied": False}
        async with self.lock:
            try:
                done = await edit(learned)
            except CitewellError as error:
                self._editor.show_problems([error.problem], again=True)
            except Exception as error:
                logger.exception("An edit failed")
                self._editor.show_problems([failed(error)], again=True)
        if done["applied"]:
            await self.learn(learned)
        return done

    async def learn(self, feedback: Sequence[Feedback]) -> None:
        """Have the engine keep what the author accepted and dismissed, unless that is off."""
        options = self._buffers.workspace_options()
        if not (options.learning.enabled or (options.sources.keep and options.sources.allow)):
            return
        for one in feedback:
            self._editor.show_problems(await self._engine.learn_async(one))


async def replanned(
    edit: Callable[[], Awaitable[dict[str, Any]]], learned: list[Feedback]
) -> dict[str, Any]:
    """Plan and apply again, a few times, while the author types faster than the editor applies."""
    for _ in range(RETRIES - 1):
        try:
            return await edit()
        except StaleEditError:
            learned.clear()
    return await edit()
