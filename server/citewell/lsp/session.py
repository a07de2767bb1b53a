"""What one connection knows: documents as they are scanned, projects, the engine, shown lists.

Documents are scanned on one thread of their own, so that neither a hover nor a cancel waits for
them; papers are searched in the worker process. All tables here belong to the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.buffers import Buffers, is_bibliography
from citewell.lsp.cards import Cards
from citewell.lsp.library_progress import LibraryProgress
from citewell.lsp.notifications import Notifier
from citewell.lsp.obstacles import Obstacles
from citewell.lsp.picker_history import PickerHistory
from citewell.lsp.preload import load_checks, load_scanners, prepare
from citewell.lsp.reader_thread import ReaderThread
from citewell.lsp.refresh import Refresher
from citewell.lsp.rerank_prefetch import RerankPrefetch
from citewell.lsp.shown import ShownLists
from citewell.lsp.snapshot import Scope, Snapshot
from citewell.lsp.text import foreground_of
from citewell.lsp.zotero import Zotero
from citewell.model import Problem
from citewell.model.document import Format

if TYPE_CHECKING:
    from citewell.documents.key_index import KeyIndex
    from citewell.features.state import FindCheck
    from citewell.lsp.papers import Paper, Papers, Reading
    from citewell.lsp.server import Server
    from citewell.model.bib import BibFile
    from citewell.model.document import Document

logger = logging.getLogger(__name__)

SETTINGS_SECONDS = 5.0
R = TypeVar("R")


class Session:
    """The state behind the handlers."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._engine: WorkerEngine | None = None
        self._papers: Papers | None = None
        self._papers_lock = threading.Lock()
        self.tell = Notifier(server)
        self.obstacles = Obstacles(server)
        self._reader = ReaderThread(server, self._tell_given_up)
        self.background = foreground_of(server).background("citewell-background")
        """For what nobody waits for."""
        self._snapshots: dict[str, tuple[object, asyncio.Task[Snapshot]]] = {}
        self._preparing: set[asyncio.Task[None]] = set()
        self._configured = asyncio.Event()
        self.watchers: list[Callable[[str], None]] = []
        """Called with the URI of a document that changed, or with "" for anything else."""
        self.buffers = Buffers(server)
        """The author's files as the editor holds them."""
        self.lists = ShownLists()
        """Completion lists that the client may ask about."""
        self.cards = Cards(self.tell)
        """References as they are shown, and records of the library."""
        self.zotero = Zotero(self.tell)
        """The entries of the Zotero that runs on this machine, where the author wants them."""
        self.opening = LibraryProgress(server)
        self.refresher = Refresher(server)
        self.watchers.append(self.refresher.changed)
        self.better = RerankPrefetch()
        """The longer search for the placeholder that is being typed."""
        self.picker_history = PickerHistory()
        """What the picker has shown."""
        self.edits = asyncio.Lock()
        """Held while an entry is inserted, so that two never work from the same text."""

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """The settings are known: load the scanners, in the background. The worker starts when a
        document is opened, or written, that cites or wants to (`wake`)."""
        self._configured.set()
        self._reader.submit(self._load)
        self.background.submit(load_checks)
        self.zotero.configure(self.buffers.workspace_options().zotero)

    def close(self) -> None:
        """End the worker and the threads."""
        self.better.stop()
        self.opening.stop()
        self.zotero.close()
        self.refresher.close()
        if self._engine is not None:
            self._engine.close()
        self._reader.close()
        self.background.shutdown(wait=False, cancel_futures=True)

    def reconfigure(self) -> None:
        """The settings changed: scan and search with the new ones."""
        self.better.stop()
        self.buffers.epoch += 1
        self._tell_watchers("")
        self.tell.forget()
        with self._papers_lock:
            self._papers = None
        self.cards.forget_records()
        if self._engine is not None:
            options = self.buffers.workspace_options()
            if self._engine.configure(options):
                self.opening.watch(self._engine, options.library.name)
        if self._configured.is_set():
            self.zotero.configure(self.buffers.workspace_options().zotero)

    def wake(self) -> None:
        """Papers will be asked for: start the worker, so that the first request finds it warm."""
        if not self.engine.begun:
            self.engine.start()
            self.opening.watch(self.engine, self.buffers.workspace_options().library.name)

    @property
    def engine(self) -> WorkerEngine:
        """The search engine; its process starts at the first use."""
        if self._engine is None:
            self._engine = WorkerEngine(self.buffers.workspace_options())
        return self._engine

    def _load(self) -> None:
        try:
            self.papers()
        except Exception:
            logger.exception("Loading failed")
        load_scanners()

    def _try_again(self, path: Path) -> None:
        """An author who opens a .bib wants it read, whatever was said before."""
        if self._papers is not None:
            self._papers.try_again(path)

    def papers(self) -> Papers:
        """The papers being written. For the reader thread."""
        from citewell.lsp.papers import Papers

        with self._papers_lock:
            if self._papers is None:
                self._papers = Papers()
            return self._papers

    # -- documents ----------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """A document was opened: scan it before it is asked about."""
        self.buffers.epoch += 1
        self._tell_watchers(uri)
        path = self.buffers.path_of(uri)
        if path is not None:
            self.buffers.forget(path)
            self._reader.submit(self._try_again, path)
        document = self._server.documents.open_document(uri)
        if path is not None and document is not None:
            preparing = asyncio.ensure_future(self._prepare(uri))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._preparing.discard)

    def changed(self, uri: str) -> None:
        """A document was edited. The version tells; other documents may depend on a .bib."""
        self._tell_watchers(uri)
        if uri.lower().endswith(".bib"):
            self.buffers.epoch += 1

    def closed(self, uri: str) -> None:
        """A document was closed: the disk counts again."""
        self.buffers.epoch += 1
        self._tell_watchers(uri)
        self._snapshots.pop(uri, None)
        if (path := self.buffers.path_of(uri)) is not None:
            self.buffers.forget(path)

    def touched(self, paths: Sequence[Path]) -> None:
        """Files changed on disk."""
        if paths:
            self.buffers.epoch += 1
            self._tell_watchers("")

    def _tell_watchers(self, uri: str) -> None:
        for watcher in self.watchers:
            watcher(uri)

    async def _prepare(self, uri: str) -> None:
        try:
            await self.snapshot(uri)
            await self.scope(uri)
        except Exception:
            logger.exception("Scanning %s failed", uri)

    async def configured(self) -> None:
        """Wait for the settings, which a client may send after its first request."""
        if not self._configured.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._configured.wait(), SETTINGS_SECONDS)
            self._configured.set()

    async def snapshot(self, uri: str) -> Snapshot | None:
        """The present version of an open document, scanned; None when it is not open.

        Requests for the same version share one scan, and cancelling one of them does not stop it.
        """
        await self.configured()
        document = self._server.documents.open_document(uri)
        path = self.buffers.path_of(uri)
        if document is None or path is None or is_bibliography(document, path):
            return None
        state = (document.version, document.source, self.buffers.epoch)
        known = self._snapshots.get(uri)
        if known is not None and known[0] == state:
            snapshot = await asyncio.shield(known[1])
            if snapshot.is_fresh:
                return snapshot
        task = asyncio.ensure_future(self._scan(uri, path))
        self._snapshots[uri] = (state, task)
        return await asyncio.shield(task)

    async def scope(self, uri: str) -> Scope | None:
        """The present version of an open document or .bib with every project that holds it.

        This is the door for what concerns a key wherever it stands; a snapshot is for one document.
        """
        await self.configured()
        document = self._server.documents.open_document(uri)
        path = self.buffers.path_of(uri)
        if document is None or path is None:
            return None
        wanted = self.buffers.reading_of(document, path)
        index, version = document.index, document.version
        opened = self.buffers.opened()
        await self.read_ahead(wanted)
        circle = await self.read(lambda: self.papers().circle(wanted))
        return Scope(uri, path, version, circle, index, wanted.options, opened)

    async def bib(self, uri: str) -> tuple[BibFile, int | None] | None:
        """The present text of an open .bib as read, and its version; None for other documents."""
        await self.configured()
        document = self._server.documents.open_document(uri)
        path = self.buffers.path_of(uri)
        if document is None or path is None or not is_bibliography(document, path):
            return None
        wanted, version = self.buffers.reading_of(document, path), document.version
        return await self.read(lambda: self.papers().bib(wanted)), version

    async def fresh_snapshot(self, uri: str) -> Snapshot | None:
        """The present version with its paper opened anew: what edits are planned from."""
        path = self.buffers.path_of(uri)
        if path is None or self._server.documents.open_document(uri) is None:
            return None
        return await self._scan(uri, path, anew=True)

    async def _scan(self, uri: str, path: Path, *, anew: bool = False) -> Snapshot:
        document = self._server.documents.open_document(uri)
        assert document is not None
        index, version = document.index, document.version
        wanted = self.buffers.reading_of(document, path)
        scanned, paper = await self.read(lambda: self.papers().read(wanted, anew=anew))
        if not paper.is_prepared:
            self._reader.submit(prepare, paper.prepare_index)
            self.background.submit(prepare, paper.prepare)
        if _wants_papers(scanned, paper):
            self.wake()
        file_versions = tuple((p, v) for p, v in paper.file_versions if p not in wanted.texts)
        return Snapshot(uri, path, version, scanned, paper, index, wanted.options, file_versions)

    def assume(self, path: Path, text: str, before: object) -> None:
        """The editor took an edit of a file that it may not show to us (`Buffers.assume`)."""
        self.buffers.assume(path, text, before)
        self.buffers.epoch += 1
        self._tell_watchers("")

    def find_check(self, index: KeyIndex) -> FindCheck:
        """What is known of the entries of an index (`CheckCache.find_check`)."""
        return self._server.diagnostics.checking.answers.find_check(index)

    async def read(self, job: Callable[[], R]) -> R:
        """Run a job on the reader thread; twice when the author gave up what it read."""
        return await self._reader.run(job)

    async def read_ahead(self, wanted: Reading) -> None:
        """Read the workspace, piece by piece, so that others get their turn."""
        while not await self.read(lambda: self.papers().read_ahead(wanted)):
            pass

    async def whole_scope(self, uri: str) -> Scope | Problem | None:
        """The same as `scope`, for an edit that must know every file: what the author gave up
        before is read after all; a Problem when it is given up again."""
        await self.configured()
        if await self.read(lambda: self.papers().given_up()):
            await self.read(lambda: self.papers().take_up())
        scope = await self.scope(uri)
        given_up = await self.read(lambda: self.papers().given_up())
        return given_up[0] if given_up else scope

    async def _tell_given_up(self) -> None:
        self.tell(await self.read(lambda: self.papers().given_up()), again=True)
        self.buffers.epoch += 1
        self._tell_watchers("")

    async def outdated(self, texts: Mapping[Path, str]) -> list[Path]:
        """The files that no longer hold what a plan was made from: in the editor, or on disk, where
        another program may have replaced them."""
        closed = {
            path: text for path, text in texts.items() if self.buffers.open_document(path) is None
        }
        wanted = self.buffers.workspace_reading()
        stale = await self.read(lambda: self.papers().outdated(wanted, closed)) if closed else []
        opened = ((path, self.buffers.open_document(path)) for path in texts)
        return [p for p, found in opened if found is not None and found.source != texts[p]] + stale

    async def is_current(self, snapshot: Snapshot, texts: Mapping[Path, str]) -> bool:
        """True while the files hold what a plan was made from."""
        document = self._server.documents.open_document(snapshot.uri)
        if document is None or document.version != snapshot.version:
            return False
        return not await self.outdated(texts)

    @property
    def encoding(self) -> str:
        """The negotiated position encoding."""
        return self._server.documents.encoding


def _wants_papers(document: Document, paper: Paper) -> bool:
    """True for a document whose author cites, or is about to. Markdown is mostly no paper: a README
    must not cost the memory of a library, and "@name" in it is nobody's key."""
    return (
        document.format is not Format.MARKDOWN
        or bool(document.placeholders or document.bibliographies)
        or bool(document.citations and paper.project.bibs)
    )
