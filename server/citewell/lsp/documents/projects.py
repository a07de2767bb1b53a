"""The open documents and their projects, in their present state.

Documents are scanned on one thread of their own, so that neither a hover nor a cancel waits for
them. All tables here belong to the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from citewell.lsp.documents.buffers import Buffers, is_bibliography
from citewell.lsp.documents.preload import SCANNERS, preload, prepare
from citewell.lsp.documents.reader_thread import ReaderThread
from citewell.lsp.documents.snapshot import Snapshot, WorkspaceSnapshot
from citewell.lsp.protocol.editor import Editor
from citewell.model import CitewellError, Problem
from citewell.model.document import Format
from citewell.model.flavours import format_of

if TYPE_CHECKING:
    from citewell.lsp.documents.project_cache import ProjectCache
    from citewell.lsp.documents.project_state import ProjectState, Reading
    from citewell.model.bib import BibFile
    from citewell.model.document import Document

logger = logging.getLogger(__name__)

R = TypeVar("R")


class Projects:
    """Answers for an open document with its project, as both are now."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        background: Executor,
        wants_papers: Callable[[], None],
    ) -> None:
        """`wants_papers` is called when a document cites, or wants to."""
        self._editor = editor
        self._buffers = buffers
        self._background = background
        self._wants_papers = wants_papers
        self._reader = ReaderThread(editor, self._show_cancelled)
        self._cache: ProjectCache | None = None
        self._cache_lock = threading.Lock()
        self._snapshots: dict[str, tuple[object, asyncio.Task[Snapshot]]] = {}
        self._preparing: set[asyncio.Task[None]] = set()

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the scanners, in the background."""
        self._reader.submit(preload, SCANNERS)

    def close(self) -> None:
        """End the reader thread."""
        self._reader.close()

    def forget(self) -> None:
        """The settings changed: read everything with the new ones."""
        with self._cache_lock:
            self._cache = None

    def opened(self, uri: str) -> None:
        """A document was opened: scan it before it is asked about."""
        path = self._buffers.path_of(uri)
        if path is None:
            return
        self._buffers.forget(path)
        self._reader.submit(self._try_again, path)
        document = self._editor.open_document(uri)
        if document is not None:
            if self._cache is not None:
                # Before anything else holds the text that the editor sent.
                for text in self._cache.texts_of(path):
                    document.share(text)
            preparing = asyncio.ensure_future(self._prepare(uri))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._preparing.discard)

    def closed(self, uri: str) -> None:
        """A document was closed: the disk counts again."""
        self._snapshots.pop(uri, None)
        if (path := self._buffers.path_of(uri)) is not None:
            self._buffers.forget(path)

    # -- one document ---------------------------------------------------------------------------

    async def snapshot(self, uri: str, *, fresh: bool = False) -> Snapshot | None:
        """The present version of an open manuscript, scanned; None for anything else.

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
        """The present text of an open .bib as read, and its version; None for other documents."""
        await self._editor.configured()
        document = self._editor.open_document(uri)
        path = self._buffers.path_of(uri)
        if document is None or path is None or not is_bibliography(document, path):
            return None
        wanted, version = self._buffers.reading_of(document, path), document.version
        return await self.look_up(lambda cache: cache.bib(wanted)), version

    async def workspace(self, uri: str, *, complete: bool = False) -> WorkspaceSnapshot | None:
        """The present version of an open document or .bib with every project that holds it, for
        what concerns a key wherever it occurs; None when it is not open.

        `complete` is for an edit that must know every file: files whose reading was
        cancelled are read after all. Raises `CitewellError` when that is cancelled again.
        """
        await self._editor.configured()
        if complete and await self._cancelled():
            await self.look_up(lambda cache: cache.take_up())
        snapshot = await self._workspace(uri)
        if complete and (cancelled := await self._cancelled()):
            raise CitewellError(cancelled[0])
        return snapshot

    async def _workspace(self, uri: str) -> WorkspaceSnapshot | None:
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

    # -- texts that plans were made from ----------------------------------------------------------

    async def outdated(self, texts: Mapping[Path, str]) -> list[Path]:
        """The files that no longer hold what a plan was made from: in the editor, or on disk, where
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
        """True while the files hold what a plan was made from."""
        document = self._editor.open_document(snapshot.uri)
        if document is None or document.version != snapshot.version:
            return False
        return not await self.outdated(texts)

    def assume(self, path: Path, text: str, before: object) -> None:
        """The editor took an edit of a file that it may not show to us (`Buffers.assume`)."""
        self._buffers.assume(path, text, before)
        self._buffers.changed()

    # -- the reader thread ------------------------------------------------------------------------

    async def read(self, job: Callable[[], R]) -> R:
        """Run a job on the reader thread; again when the author cancelled what it read."""
        return await self._reader.run(job)

    async def look_up(self, job: Callable[[ProjectCache], R]) -> R:
        """Run a job on the reader thread that needs the projects."""
        return await self._reader.run(lambda: job(self._now()))

    async def read_ahead(self, wanted: Reading) -> None:
        """Read the workspace, piece by piece, so that others get their turn."""
        while not await self.look_up(lambda cache: cache.read_ahead(wanted)):
            pass

    def _now(self) -> ProjectCache:
        from citewell.lsp.documents.project_cache import ProjectCache

        with self._cache_lock:
            if self._cache is None:
                self._cache = ProjectCache()
            return self._cache

    def _try_again(self, path: Path) -> None:
        """Read a .bib that the author has opened, even if reading it was cancelled before."""
        if self._cache is not None:
            self._cache.try_again(path)

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

    async def _cancelled(self) -> list[Problem]:
        return await self.look_up(lambda cache: cache.cancelled())

    async def _show_cancelled(self) -> None:
        self._editor.show_problems(await self._cancelled(), again=True)
        self._buffers.changed()


def _wants_papers(document: Document, state: ProjectState) -> bool:
    """True for a document whose author cites, or is about to. Most Markdown files are not papers: a
    README must not load a library into memory, and "@name" in it is not a citation key."""
    return (
        document.format is not Format.MARKDOWN
        or bool(document.placeholders or document.bibliographies)
        or bool(document.citations and state.project.bibs)
    )
