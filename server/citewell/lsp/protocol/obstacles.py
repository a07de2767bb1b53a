"""Reports that a .bib may not be written, with a button that allows it or opens the file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.protocol.editor import Editor

if TYPE_CHECKING:
    from citewell.model import Problem

Retry = Callable[[], Awaitable[object]]


class Obstacles:
    """Shows problems, with a button where one helps to resolve them. For the event loop."""

    def __init__(self, editor: Editor, allow: Callable[[Path], None]) -> None:
        """`allow` is called with a folder outside the workspace that the author makes writable."""
        self._editor = editor
        self._allow = allow
        self._asking: set[asyncio.Task[None]] = set()

    def show(self, problems: Sequence[Problem], retry: Retry) -> None:
        """Show the problems of an explicit action; `retry` repeats the action. Does not wait for
        the author: the action has ended without changing anything."""
        for problem in problems:
            button = self._button(problem)
            if not button:
                self._editor.show_problems([problem], again=True)
                continue
            task = asyncio.ensure_future(self._ask(problem, button, retry))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    def _button(self, problem: Problem) -> str:
        from citewell.features.citing.insert import OUTSIDE, PROTECTED

        path = Path(problem.path)
        if problem.code == OUTSIDE:
            return f"Write {path.name}"
        if problem.code == PROTECTED and self._editor.flags.show_document and path.is_file():
            return f"Open {path.name}"
        return ""

    async def _ask(self, problem: Problem, button: str, retry: Retry) -> None:
        message = f"Citewell: {problem.message} {problem.hint}".strip()
        answer = await self._editor.ask(types.MessageType.Warning, message, [button])
        if answer is None:
            self._editor.show_problems([problem], again=True)
        if answer != button:
            return
        path = Path(problem.path)
        if button.startswith("Write"):
            self._allow(path.parent)
            await retry()
        else:
            await self._editor.show_document(from_fs_path(str(path)) or "")
