"""The open documents and their projects, in their current state.

Documents are scanned on a separate thread, so that neither a hover nor a cancellation waits for
them. All tables here belong to the event loop.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from citewell.engine.processes import trim_heap
from citewell.lsp.documents.buffers import Buffers, Snapshot, WorkspaceSnapshot, is_bibliography
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import ProgressBar
from citewell.model.cancel import watch_this_thread
from citewell.model.document import Format, format_of

if TYPE_CHECKING:
    from citewell.lsp.documents.project_state import DocumentInput, ProjectCache, ProjectState
    from citewell.model.bib import BibFile
    from citewell.model.document import Document

# Progress while large files and workspaces are read; nothing is shown for the first second.

logger = logging.getLogger(__name__)

BEFORE_SHOWN = 1.0
"""Seconds of reading before progress is shown."""
LOOK_SECONDS = 0.1
IDLE_SECONDS = 0.3
"""Seconds without reading after which everything counts as read."""
TITLE = "reading"

R = TypeVar("R")


class ReaderThread:
    """The reader thread, and its displayed progress. The reader calls `begin`, `step` and `end`,
    the event loop the other methods."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._executor = ThreadPoolExecutor(
            1,
            thread_name_prefix="citewell-documents",
            initializer=watch_this_thread,
            initargs=(self,),
        )
        self._what = ""
        self._total = self._done = 0
        self._chain = self._ended = 0.0
        self._jobs = 0
        self.is_closed = False
        """Whether the server is shutting down: no further jobs are accepted."""
        self._timer: asyncio.TimerHandle | None = None
        self._showing: asyncio.Task[None] | None = None

    # -- called by the reader -------------------------------------------------------------------

    def begin(self, what: str, total: int, done: int) -> None:
        """Start the progress of a read."""
        now = time.monotonic()
        if now - self._ended > IDLE_SECONDS:
            self._chain = now
        self._total, self._done = total, done
        self._what = what

    def step(self) -> None:
        """Count one more step."""
        self._done += 1

    def end(self) -> None:
        """End the progress of a read."""
        self._ended = time.monotonic()
        self._what = ""

    # -- called by the event loop ---------------------------------------------------------------

    async def run(self, job: Callable[[], R]) -> R:
        """Run a job on the reader thread. The result is cancelled once the thread is closed."""
        loop = asyncio.get_running_loop()
        self._jobs += 1
        if self._timer is None and self._editor.flags.progress:
            self._timer = loop.call_later(BEFORE_SHOWN / 2, self._look)
        try:
            if self.is_closed:
                raise asyncio.CancelledError
            return await loop.run_in_executor(self._executor, job)
        finally:
            self._jobs -= 1

    def submit(self, job: Callable[..., Any], *arguments: Any) -> None:
        """Run a job on the reader thread without waiting for it; ignored once it is closed."""
        if not self.is_closed:
            self._executor.submit(job, *arguments)

    def close(self) -> None:
        """End the thread after its current job."""
        self.is_closed = True
        if self._showing is not None:
            self._showing.cancel()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        """Show the progress if it is due. For the timer."""
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
        progress = await ProgressBar.begin(self._editor, TITLE, self._message(), cancellable=False)
        if progress is None:
            return
        shown = ""
        try:
            while self._is_reading():
                await asyncio.sleep(LOOK_SECONDS)
                if (message := self._message()) and message != shown:
                    progress.report(shown := message, self._share())
        finally:
            self._showing = None
            progress.end("Done.")

    def _message(self) -> str:
        what, done, total = self._what, self._done, self._total
        return f"{what} ({done:,} of {total:,})" if what and total else what

    def _share(self) -> int | None:
        return min(100, 100 * self._done // self._total) if self._total else None


# Work in advance of requests: lazy imports and indexes.

SCANNERS = (
    "citewell.features.citing.hover",
    "citewell.features.citing.complete",
    "citewell.features.bib.complete",
    "citewell.features.citing.insert",
)
"""Modules for the first completion and hover. For the reader thread."""
CHECKS = ("citewell.engine.check_store", "citewell.lsp.state.reports")
"""Modules for the first diagnostics: an import on the event loop would delay answers."""


def preload(modules: Sequence[str]) -> None:
    """Import modules in advance. A failure is logged, and raised again where the module is
    needed."""
    for module in modules:
        try:
            import_module(module)
        except Exception:
            logger.exception("Loading %s failed", module)


def prepare(job: Callable[[], None]) -> None:
    """Compute the indexes that the features of a paper use. A failure is logged."""
    try:
        job()
    except Exception:
        logger.exception("Indexing the bibliographies failed")
    # The objects of a paper are long-lived: the garbage collector need not visit them again.
    gc.freeze()
    trim_heap()


class Projects:
    """Answers for an open document with its project, both in their current state."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        background: Executor,
        wants_papers: Callable[[], None],
    ) -> None:
        """`wants_papers` is called when a document has citations or placeholders."""
        self._editor = editor
        self._buffers = buffers
        self._background = background
        self._wants_papers = wants_papers
        self._reader = ReaderThread(editor)
        self._cache: ProjectCache | None = None
        self._cache_lock = threading.Lock()
        self._snapshots: dict[str, tuple[object, asyncio.Task[Snapshot]]] = {}
        self._preparing: set[asyncio.Task[None]] = set()

    # -- life cycle -----------------------------------------------------------------------------

    def start(self) -> None:
        """Load the scanners, in the background."""
        self._reader.submit(preload, SCANNERS)

    def close(self) -> None:
        """End the reader thread."""
        self._reader.close()

    def forget(self) -> None:
        """Apply new settings: read everything again."""
        with self._cache_lock:
            self._cache = None

    def opened(self, uri: str) -> None:
        """Scan a newly opened document before the first request."""
        path = self._buffers.path_of(uri)
        if path is None:
            return
        self._buffers.forget(path)
        document = self._editor.open_document(uri)
        if document is not None:
            if self._cache is not None:
                # Before another object holds the editor's text.
                for text in self._cache.texts_of(path):
                    document.share(text)
            preparing = asyncio.ensure_future(self._prepare(uri))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._preparing.discard)

    def closed(self, uri: str) -> None:
        """Use the text on disk of a closed document again."""
        self._snapshots.pop(uri, None)
        if (path := self._buffers.path_of(uri)) is not None:
            self._buffers.forget(path)

    # -- one document ---------------------------------------------------------------------------

    async def snapshot(self, uri: str, *, fresh: bool = False) -> Snapshot | None:
        """The current version of an open manuscript, scanned; None for anything else.

        Requests for the same version share one scan, and cancelling one of them does not stop it.
        With `fresh`, the paper is opened again, so that edits can be planned from it.
        """
        await self._editor.configured()
        document = self._editor.open_document(uri)
        path = self._buffers.path_of(uri)
        if document is None or path is None:
            return None
        if fresh:
            return await self._scan(uri, path, rescan=True)
        if is_bibliography(document, path):
            return None
        state = (document.version, document.source, self._buffers.epoch)
        known = self._snapshots.get(uri)
        if known is not None and known[0] == state:
            snapshot = await asyncio.shield(known[1])
            if snapshot.is_fresh:
                return snapshot
        task = asyncio.ensure_future(self._scan(uri, path))
        self._snapshots[uri] = (state, task)
        return await asyncio.shield(task)

    async def bib(self, uri: str) -> tuple[BibFile, int | None] | None:
        """The current text of an open .bib, parsed, and its version; None for other documents."""
        await self._editor.configured()
        document = self._editor.open_document(uri)
        path = self._buffers.path_of(uri)
        if document is None or path is None or not is_bibliography(document, path):
            return None
        wanted, version = self._buffers.reading_of(document, path), document.version
        return await self.look_up(lambda cache: cache.bib(wanted)), version

    async def workspace(self, uri: str) -> WorkspaceSnapshot | None:
        """The current version of an open document or .bib with every project that contains it, for
        features of a key in all files; None when it is not open."""
        await self._editor.configured()
        document = self._editor.open_document(uri)
        path = self._buffers.path_of(uri)
        if document is None or path is None:
            return None
        wanted = self._buffers.reading_of(document, path)
        index, version = document.index, document.version
        opened = self._buffers.opened()
        await self.read_ahead(wanted)
        linked = await self.look_up(lambda cache: cache.linked(wanted))
        if linked.bib is not None:
            document.share(linked.bib.text)
        return WorkspaceSnapshot(uri, path, version, linked, index, wanted.options, opened)

    async def _scan(self, uri: str, path: Path, *, rescan: bool = False) -> Snapshot:
        document = self._editor.open_document(uri)
        assert document is not None
        index, version = document.index, document.version
        wanted = self._buffers.reading_of(document, path)
        scanned, state = await self.look_up(lambda cache: cache.read(wanted, rescan=rescan))
        if not state.is_prepared and not self._reader.is_closed:
            self._reader.submit(prepare, state.prepare_index)
            self._background.submit(prepare, state.prepare)
        if _wants_papers(scanned, state):
            self._wants_papers()
        file_versions = tuple((p, v) for p, v in state.file_versions if p not in wanted.texts)
        return Snapshot(uri, path, version, scanned, state, index, wanted.options, file_versions)

    # -- texts of plans ---------------------------------------------------------------------------

    async def outdated(self, texts: Mapping[Path, str]) -> list[Path]:
        """The files whose text differs from that of a plan: in the editor, or on disk, where
        another program may have replaced them."""
        shown = self._buffers.open_document
        closed = {path: text for path, text in texts.items() if shown(path) is None}
        wanted = self._buffers.workspace_reading()
        stale: list[Path] = []
        if closed:
            stale = await self.look_up(lambda cache: cache.outdated(wanted, closed))
        opened = ((path, shown(path)) for path in texts)
        return [p for p, found in opened if found is not None and found.source != texts[p]] + stale

    async def is_current(self, snapshot: Snapshot, texts: Mapping[Path, str]) -> bool:
        """True while the files have the texts of a plan."""
        document = self._editor.open_document(snapshot.uri)
        if document is None or document.version != snapshot.version:
            return False
        return not await self.outdated(texts)

    def assume(self, path: Path, text: str, before: object) -> None:
        """Assume a text for a file that the editor edited and may not show (`Buffers.assume`)."""
        self._buffers.assume(path, text, before)
        self._buffers.changed()

    # -- the reader thread ------------------------------------------------------------------------

    async def read(self, job: Callable[[], R]) -> R:
        """Run a job on the reader thread."""
        return await self._reader.run(job)

    async def look_up(self, job: Callable[[ProjectCache], R]) -> R:
        """Run a job with the projects on the reader thread."""
        return await self._reader.run(lambda: job(self._now()))

    async def read_ahead(self, wanted: DocumentInput) -> None:
        """Read the workspace in pieces, with other work in between."""
        while not await self.look_up(lambda cache: cache.read_ahead(wanted)):
            pass

    def _now(self) -> ProjectCache:
        from citewell.lsp.documents.project_state import ProjectCache

        with self._cache_lock:
            if self._cache is None:
                self._cache = ProjectCache()
            return self._cache

    async def _prepare(self, uri: str) -> None:
        try:
            await self._editor.configured()
            # The worker starts while the document is read.
            if self._is_latex(uri):
                self._wants_papers()
            await self.snapshot(uri)
            await self.workspace(uri)
        except Exception:
            logger.exception("Scanning %s failed", uri)

    def _is_latex(self, uri: str) -> bool:
        document, path = self._editor.open_document(uri), self._buffers.path_of(uri)
        return (
            document is not None
            and path is not None
            and not is_bibliography(document, path)
            and format_of(path) is not Format.MARKDOWN
        )


def _wants_papers(document: Document, state: ProjectState) -> bool:
    """True for a document with citations or placeholders. Most Markdown files are not papers: a
    README must not load a library into memory, and "@name" in it is not a citation key."""
    return (
        document.format is not Format.MARKDOWN
        or bool(document.placeholders or document.bibliographies)
        or bool(document.citations and state.project.bibs)
    )
