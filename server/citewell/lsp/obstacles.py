"""A .bib that may not take an entry: said with a button that acts, and done once it is pressed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

if TYPE_CHECKING:
    from citewell.lsp.server import Server
    from citewell.model import Problem

logger = logging.getLogger(__name__)

Retry = Callable[[], Awaitable[object]]


class Obstacles:
    """Tells of problems; those that a button cures are told with it. For the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._asking: set[asyncio.Task[None]] = set()

    def tell(self, problems: Sequence[Problem], retry: Retry) -> None:
        """Show the problems of an explicit act, which `retry` does again. Does not wait for the
        author: the act has ended, with nothing changed."""
        for problem in problems:
            button = self._button(problem)
            if not button:
                self._server.session.tell([problem], again=True)
                continue
            task = asyncio.ensure_future(self._ask(problem, button, retry))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    def _button(self, problem: Problem) -> str:
        from citewell.features.insert import OUTSIDE, PROTECTED

        path = Path(problem.path)
        if problem.code == OUTSIDE:
            return f"Write {path.name}"
        if problem.code == PROTECTED and self._server.flags.show_document and path.is_file():
            return f"Open {path.name}"
        return ""

    async def _ask(self, problem: Problem, button: str, retry: Retry) -> None:
        message = f"Citewell: {problem.message} {problem.hint}".strip()
        try:
            answer = await self._server.window_show_message_request_async(
                types.ShowMessageRequestParams(
                    type=types.MessageType.Warning,
                    message=message,
                    actions=[types.MessageActionItem(title=button)],
                )
            )
        except Exception as error:
            logger.info("The editor puts no questions: %s", error)
            self._server.session.tell([problem], again=True)
            return
        if answer is None or answer.title != button:
            return
        path = Path(problem.path)
        if button.startswith("Write"):
            self._server.session.buffers.allow(path.parent)
            await retry()
        else:
            await self._server.window_show_document_async(
                types.ShowDocumentParams(uri=from_fs_path(str(path)) or "", take_focus=True)
            )
