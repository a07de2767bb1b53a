"""Work-done progress with a cancel button; created, reported and ended only here."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.engine.worker_client import LATE
from citewell.lsp.protocol.editor import Editor
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.engine.worker_client import WorkerEngine
    from citewell.model import Problem
    from citewell.usecases import find

logger = logging.getLogger(__name__)

CREATE_SECONDS = 2.0
"""Seconds that an editor may take to confirm the progress."""

Report = Callable[[str], None]
R = TypeVar("R")
_numbers = itertools.count(1)


class ProgressBar:
    """One progress shown in the editor. For the event loop."""

    def __init__(self, editor: Editor, token: str, cancellable: bool) -> None:
        self._progress = editor.progress
        self._cancellable = cancellable
        self._token = token
        self.cancelled: asyncio.Future[Any] = asyncio.wrap_future(self._progress.tokens[token])
        """Done as soon as the author has pressed the button."""

    @classmethod
    async def begin(
        cls,
        editor: Editor,
        title: str,
        message: str = "",
        percentage: int | None = None,
        *,
        cancellable: bool = True,
    ) -> ProgressBar | None:
        """Show a progress; None if the editor supports none."""
        if not editor.flags.progress:
            return None
        token = "-".join(("citewell", *title.split()[:1], str(next(_numbers))))
        creating = asyncio.ensure_future(editor.progress.create_async(token))
        try:
            # None, although pygls declares a future.
            _ = await asyncio.wait_for(asyncio.shield(creating), CREATE_SECONDS)
        except Exception as error:
            logger.info("The editor shows no progress: %s", error)
            return None
        begin = types.WorkDoneProgressBegin(
            title=f"Citewell: {title}",
            cancellable=cancellable,
            message=message or None,
            percentage=percentage,
        )
        editor.progress.begin(token, begin)
        return cls(editor, token, cancellable)

    async def is_cancelled(self, seconds: float) -> bool:
        """Wait for `seconds`; True as soon as the author has pressed the button."""
        if not self.cancelled.done():
            await asyncio.wait({self.cancelled}, timeout=seconds)
        else:
            await asyncio.sleep(seconds)
        return self.cancelled.done()

    def report(self, message: str, percentage: int | None = None) -> None:
        """Show the state of the work."""
        self._progress.report(
            self._token,
            types.WorkDoneProgressReport(
                message=message,
                percentage=percentage,
                cancellable=self._cancellable and not self.cancelled.done(),
            ),
        )

    def end(self, message: str = "") -> None:
        """Remove the progress."""
        with contextlib.suppress(Exception):  # the connection may be gone
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=message or None))
        self._progress.tokens.pop(self._token, None)
        self.cancelled.cancel()


async def with_progress(
    editor: Editor, title: str, job: Callable[[Report], Awaitable[R]]
) -> R | None:
    """Run a job with a progress in the editor; None when the author cancelled it. The job gets a
    function that reports its steps. Without progress support it just runs."""
    progress = await ProgressBar.begin(editor, title)
    if progress is None:
        return await job(lambda message: None)
    task = asyncio.ensure_future(job(progress.report))
    try:
        waiting: set[asyncio.Future[Any]] = {task, progress.cancelled}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _stop(task)
            return None
        return task.result()
    except asyncio.CancelledError:
        await asyncio.shield(_stop(task))
        raise
    finally:
        progress.end("Cancelled." if task.cancelled() else "Done.")


async def on_thread(job: Callable[[find.Progress, Cancel], R], report: Report) -> R:
    """Run a use case on a thread with reports; cancelling the task ends it."""
    loop = asyncio.get_running_loop()

    def progress(stage: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(report, f"{stage} ({done} of {total})")

    return await step_on_thread(lambda cancel: job(progress, cancel))


async def step_on_thread(step: Callable[[Cancel], R]) -> R:
    """Run one step of a use case on a thread; cancelling the task ends it."""
    cancel = Cancel()
    try:
        return await asyncio.to_thread(step, cancel)
    except asyncio.CancelledError:
        cancel.set()
        raise


async def _stop(task: asyncio.Future[R]) -> None:
    """Cancel a task until it ends: a library may swallow the first cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.05)


class DelayedProgress:
    """Progress that is shown once the work has taken `seconds` seconds."""

    def __init__(self, editor: Editor, title: str, seconds: float) -> None:
        self._message = ""
        self._percentage = 0
        self._progress: ProgressBar | None = None
        self._showing = asyncio.ensure_future(self._begin(editor, title, seconds))

    async def finishes(self, job: asyncio.Future[R]) -> bool:
        """Wait for a job; False when the author pressed the button, which ends the job."""
        while not job.done():
            waiting: set[asyncio.Future[Any]] = {job}
            if self._progress is not None:
                waiting.add(self._progress.cancelled)
            await asyncio.wait(waiting, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            if self._is_cancelled:
                job.cancel()
                return False
        return not self._is_cancelled

    def report(self, message: str, percentage: int) -> None:
        """Report the state of the work, shown now or later."""
        self._message, self._percentage = message, percentage
        if self._progress is not None:
            self._progress.report(message, percentage)

    def end(self) -> None:
        """Remove the progress."""
        self._showing.cancel()
        if self._progress is not None:
            self._progress.end()

    @property
    def _is_cancelled(self) -> bool:
        return self._progress is not None and self._progress.cancelled.done()

    async def _begin(self, editor: Editor, title: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._progress = await ProgressBar.begin(editor, title, self._message, self._percentage)


# Progress, with a cancel button, while the library opens.

BEFORE_SHOWN = 1.0
"""Seconds of opening before progress is shown."""
LOOK_SECONDS = 0.1


class LibraryProgress:
    """Watches the start of the engine's process. For one event loop."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._task: asyncio.Task[None] | None = None

    def watch(self, engine: WorkerEngine, name: str) -> None:
        """Watch the engine open the library with that name."""
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
            progress = await ProgressBar.begin(self._editor, f"opening the library {name}")
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
    """Wait until the engine answers, without a limit."""
    while any(problem.code == LATE.code for problem in (await engine.status_async()).problems):
        await asyncio.sleep(LOOK_SECONDS)


# Reports of a .bib that may not be written, with a button that allows it or opens the file.

Retry = Callable[[], Awaitable[object]]


class Obstacles:
    """Shows problems, with a button if one helps to solve them. For the event loop."""

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
