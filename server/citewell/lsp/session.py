"""What one connection knows: documents as they are scanned, projects, the engine, shown lists.

Documents are scanned on one thread of their own, so that neither a hover nor a cancel waits for
them; papers are searched in the worker process. All tables here belong to the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified
from pygls.uris import to_fs_path, uri_scheme

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.better import BetterList
from citewell.lsp.cards import Cards
from citewell.lsp.learning import Offers
from citewell.lsp.loading import Loading
from citewell.lsp.opening import Opening
from citewell.lsp.places import OpenFile
from citewell.lsp.refresh import Refresher
from citewell.lsp.stamp import is_empty, stamp_of
from citewell.lsp.text import LineIndex, OpenDocument, foreground_of
from citewell.lsp.zotero import Zotero
from citewell.model import Problem, Work
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.documents.key_table import KeyTable
    from citewell.features.completion import Completion
    from citewell.features.state import CheckOf
    from citewell.features.symbols import Symbol
    from citewell.lsp.papers import Circle, Paper, Papers, Reading
    from citewell.lsp.server import Server
    from citewell.model.bib import BibEntry, BibFile
    from citewell.model.check import Check
    from citewell.model.document import Document
    from citewell.model.feedback import Feedback

logger = logging.getLogger(__name__)

MAX_LISTS = 16
"""Completion lists that are remembered for resolution."""
SETTINGS_SECONDS = 5.0
SUFFIXES = {"latex": ".tex", "tex": ".tex", "plaintex": ".tex", "markdown": ".md", "quarto": ".qmd"}
FEW_ENTRIES = 500
"""To read so many entries as references takes a few hundredths of a second."""
R = TypeVar("R")


@frozen(eq=False)
class Snapshot:
    """One version of one document with the paper it belongs to. Immutable."""

    uri: str
    path: Path
    version: int | None
    document: Document
    paper: Paper
    index: LineIndex
    options: Options
    stamps: tuple[tuple[Path, object], ...]
    """Of the bibliographies on disk, as they were read."""

    @property
    def is_fresh(self) -> bool:
        """False when a bibliography has changed on disk since."""
        return all(stamp_of(path) == stamp for path, stamp in self.stamps)


@frozen(eq=False)
class Scope:
    """One version of one document or .bib with all that its keys may concern. Immutable."""

    uri: str
    path: Path
    version: int | None
    circle: Circle
    """The file as scanned, its projects, and those that share a .bib with them."""
    index: LineIndex
    options: Options
    opened: Mapping[Path, OpenFile]
    """The files that the editor had open then."""

    @property
    def keys(self) -> KeyTable:
        """Every key of the projects that hold the file: for each where it is cited and defined."""
        return self.circle.keys


@frozen(eq=False)
class Shown:
    """A completion list that the client may ask about."""

    snapshot: Snapshot
    completion: Completion


class Session:
    """The state behind the handlers."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._engine: WorkerEngine | None = None
        self._papers: Papers | None = None
        self._papers_lock = threading.Lock()
        self._reader = Loading(server, self._tell_given_up)
        self.background = foreground_of(server).background("citewell-background")
        """For what nobody waits for."""
        self._snapshots: dict[str, tuple[object, asyncio.Task[Snapshot]]] = {}
        self._lists: OrderedDict[int, Shown] = OrderedDict()
        self._numbers = itertools.count(1)
        self._preparing: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()
        self._assumed: dict[Path, tuple[object, str]] = {}
        self._epoch = 0
        """Rises with every change of a file other than the one that is asked about."""
        self._configured = asyncio.Event()
        self.watchers: list[Callable[[str], None]] = []
        """Called with the URI of a document that changed, or with "" for anything else."""
        self.cards = Cards(self.tell)
        """References as they are shown, and records of the library."""
        self.zotero = Zotero(self.tell)
        """The entries of the Zotero that runs on this machine, where the author wants them."""
        self.opening = Opening(server)
        self.refresher = Refresher(server)
        self.watchers.append(self.refresher.changed)
        self.better = BetterList()
        """The longer search for the placeholder that is being typed."""
        self.offers = Offers()
        """What the picker has shown."""
        self.edits = asyncio.Lock()
        """Held while an entry is inserted, so that two never work from the same text."""

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """The settings are known: start the worker and load the scanners, in the background."""
        self._configured.set()
        self.engine.start()
        self.opening.watch(self.engine, self.engine_options().library.name)
        self._reader.submit(self._warm)
        self.background.submit(self._warm_checks)
        self.zotero.configure(self.engine_options().zotero)

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
        self._epoch += 1
        self._tell_watchers("")
        self._told.clear()
        with self._papers_lock:
            self._papers = None
        self.cards.forget_records()
        if self._engine is not None:
            options = self.engine_options()
            if self._engine.configure(options):
                self.opening.watch(self._engine, options.library.name)
        if self._configured.is_set():
            self.zotero.configure(self.engine_options().zotero)

    @property
    def engine(self) -> WorkerEngine:
        """The search engine; its process starts at the first use."""
        if self._engine is None:
            self._engine = WorkerEngine(self.engine_options())
        return self._engine

    def engine_options(self) -> Options:
        """The settings of the engine: those of the outermost workspace folder."""
        roots = self._server.roots
        return self._server.settings.of(roots[-1] if roots else None)

    def _warm(self) -> None:
        try:
            self.papers()
            import citewell.features.card
            import citewell.features.complete
            import citewell.features.complete_path
            import citewell.features.insert  # noqa: F401
        except Exception:
            logger.exception("Loading failed")

    @staticmethod
    def _warm_checks() -> None:
        """What the first diagnostics need: loaded by the event loop it would hold up an answer."""
        try:
            import citewell.engine.check_store
            import citewell.lsp.reports  # noqa: F401
        except Exception:
            logger.exception("Loading failed")

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

    def marks(self, uri: str) -> tuple[str, ...]:
        """The author's own stand-ins for a citation."""
        path = self.path_of(uri)
        return () if path is None else self.options_for(path).documents.placeholders

    # -- documents ----------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """A document was opened: scan it before it is asked about."""
        self._epoch += 1
        self._tell_watchers(uri)
        path = self.path_of(uri)
        if path is not None:
            self._assumed.pop(path, None)
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
            self._epoch += 1

    def closed(self, uri: str) -> None:
        """A document was closed: the disk counts again."""
        self._epoch += 1
        self._tell_watchers(uri)
        self._snapshots.pop(uri, None)
        if (path := self.path_of(uri)) is not None:
            self._assumed.pop(path, None)

    def touched(self, paths: Sequence[Path]) -> None:
        """Files changed on disk."""
        if paths:
            self._epoch += 1
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

    def path_of(self, uri: str) -> Path | None:
        """The file of a document; for one that has no file yet, where it would stand."""
        if uri_scheme(uri) == "file":
            found = to_fs_path(uri)
            return Path(os.path.abspath(found)) if found else None  # noqa: PTH100
        roots = self._server.roots
        document = self._server.documents.open_document(uri)
        if not roots or document is None:
            return None
        suffix = SUFFIXES.get(document.language_id or "", "")
        return roots[-1] / f"untitled-{abs(hash(uri)) % 10**6}{suffix}" if suffix else None

    def root_of(self, path: Path) -> Path | None:
        """The workspace folder of a file."""
        return next((root for root in self._server.roots if path.is_relative_to(root)), None)

    def options_for(self, path: Path) -> Options:
        """The settings for a file."""
        return self._server.settings.of(self.root_of(path), path)

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
        path = self.path_of(uri)
        if document is None or path is None or is_bibliography(document, path):
            return None
        state = (document.version, document.source, self._epoch)
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
        path = self.path_of(uri)
        if document is None or path is None:
            return None
        wanted = self._reading(document, path)
        index, version = document.index, document.version
        opened = {
            found: OpenFile(open_uri, open_document.version)
            for open_uri, open_document in self._server.documents.text_documents.items()
            if (found := self.path_of(open_uri)) is not None
        }
        await self.read_ahead(wanted)
        circle = await self.read(lambda: self.papers().circle(wanted))
        return Scope(uri, path, version, circle, index, wanted.options, opened)

    async def bib(self, uri: str) -> tuple[BibFile, int | None] | None:
        """The present text of an open .bib as read, and its version; None for other documents."""
        await self.configured()
        document = self._server.documents.open_document(uri)
        path = self.path_of(uri)
        if document is None or path is None or not is_bibliography(document, path):
            return None
        wanted, version = self._reading(document, path), document.version
        return await self.read(lambda: self.papers().bib(wanted)), version

    async def find_entries(self, query: str, limit: int) -> list[tuple[Symbol, str]]:
        """Entries of every .bib of the workspace as symbols, each with the text of its file."""
        from citewell.lsp.papers import Reading

        await self.configured()
        roots = tuple(self._server.roots)
        options = self._server.settings.of(roots[-1] if roots else None)
        path = roots[-1] if roots else Path()
        texts = self.open_texts()
        wanted = Reading(path, "", texts, roots, options, self._epoch, is_bib=True)
        await self.read_ahead(wanted)
        return await self.read(lambda: self.papers().find_entries(wanted, query, limit))

    def reading(self, uri: str) -> tuple[Reading, OpenDocument] | None:
        """What the reader thread needs to read an open document or .bib; None when it is not."""
        document = self._server.documents.open_document(uri)
        path = self.path_of(uri)
        return (
            None if document is None or path is None else (self._reading(document, path), document)
        )

    def workspace_reading(self) -> Reading:
        """The same for what the editor does not show: the settings, and what other buffers hold."""
        from citewell.lsp.papers import Reading

        roots = self._server.roots
        return Reading(
            path=(roots[-1] if roots else Path.cwd()) / ".citewell-no-file",
            text="",
            texts=self.open_texts(),
            roots=tuple(roots),
            options=self.engine_options(),
            epoch=self._epoch,
        )

    def _reading(self, document: OpenDocument, path: Path) -> Reading:
        from citewell.lsp.papers import Reading

        return Reading(
            path=path,
            text=document.source,
            texts=self.open_texts(),
            roots=tuple(self._server.roots),
            options=self.options_for(path),
            epoch=self._epoch,
            is_bib=is_bibliography(document, path),
        )

    async def fresh_snapshot(self, uri: str) -> Snapshot | None:
        """The present version with its paper opened anew: what edits are planned from."""
        path = self.path_of(uri)
        if path is None or self._server.documents.open_document(uri) is None:
            return None
        return await self._scan(uri, path, anew=True)

    async def _scan(self, uri: str, path: Path, *, anew: bool = False) -> Snapshot:
        document = self._server.documents.open_document(uri)
        assert document is not None
        index, version = document.index, document.version
        wanted = self._reading(document, path)
        scanned, paper = await self.read(lambda: self.papers().read(wanted, anew=anew))
        if not paper.is_prepared:
            self._reader.submit(_prepare, paper.prepare_index)
            self.background.submit(_prepare, paper.prepare)
        stamps = tuple((p, stamp) for p, stamp in paper.stamps if p not in wanted.texts)
        return Snapshot(uri, path, version, scanned, paper, index, wanted.options, stamps)

    def open_texts(self) -> dict[Path, str]:
        """The texts of all open documents, and of files just edited through the editor, by path."""
        for path, (stamp, _) in list(self._assumed.items()):
            if stamp_of(path) != stamp:
                del self._assumed[path]
        texts = {path: text for path, (_, text) in self._assumed.items()}
        for uri, document in self._server.documents.text_documents.items():
            found = self.path_of(uri)
            if found is not None:
                texts[found] = document.source
        return texts

    def assume(self, path: Path, text: str, before: object) -> None:
        """The editor took an edit of a file that it may not show to us: this is what it holds now,
        until the file changes on disk. `before` is the file's stamp from before the edit: one that
        changed since was written by the editor, or by another program, and counts as it is."""
        now = stamp_of(path)
        if now == before or (before is None and is_empty(path)):
            self._assumed[path] = (now, text)
        self._epoch += 1
        self._tell_watchers("")

    async def bib_paths(self, scope: Scope) -> list[Path]:
        """Every .bib of the workspace, and those beside a document that is in none."""
        document = self._server.documents.open_document(scope.uri)
        if document is None:
            return []
        wanted = self._reading(document, scope.path)
        roots = [project.root.parent for project in scope.circle.projects]

        def look() -> list[Path]:
            known = [Path(bib.path) for bib in self.papers().workspace(wanted).bibs(wanted.texts)]
            beside = [path for folder in roots for path in sorted(folder.glob("*.bib"))]
            return list(dict.fromkeys((*beside, *known)))

        return await self.read(look)

    def refuse_outdated(self, scope: Scope) -> None:
        """Give up an answer about a text that was edited meanwhile: the editor asks again."""
        document = self._server.documents.open_document(scope.uri)
        if document is None or document.version != scope.version:
            raise JsonRpcContentModified("The document has changed")

    def check_of(self, bib: BibFile) -> CheckOf:
        """The verdicts that are known already for the entries of a .bib. For any thread.

        What was not even considered yet is not known: of a large file that is most, for a while.
        """
        checking = self._server.diagnostics.checking
        few = len(bib.entries) <= FEW_ENTRIES

        def known(entry: BibEntry) -> Check | None:
            return checking.of(bib, entry) if few or "question" in entry.body.notes else None

        return known

    def source_of(self, bib: BibFile) -> Callable[[BibEntry], str]:
        """The same as one line that says which record was found for an entry."""
        from citewell.features.verify import question_digest

        answers = self._server.diagnostics.checking.answers
        few = len(bib.entries) <= FEW_ENTRIES

        def line(entry: BibEntry) -> str:
            if not few and "question" not in entry.body.notes:
                return ""
            digest = question_digest(bib, entry)
            return answers.line(digest) if digest is not None else ""

        return line

    def folders_of(self, scope: Scope) -> tuple[Path, ...]:
        """Where a file that the settings name for a document may lie."""
        own = (scope.path.parent, *(project.root.parent for project in scope.circle.projects))
        return tuple(dict.fromkeys((*own, *self._server.roots)))

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
        self._epoch += 1
        self._tell_watchers("")

    def open_document(self, path: Path) -> OpenDocument | None:
        """The open document of a file."""
        for uri in self._server.documents.text_documents:
            if self.path_of(uri) == path:
                return self._server.documents.open_document(uri)
        return None

    async def outdated(self, texts: Mapping[Path, str]) -> list[Path]:
        """The files that no longer hold what a plan was made from: in the editor, or on disk, where
        another program may have replaced them."""
        closed = {path: text for path, text in texts.items() if self.open_document(path) is None}
        wanted = self.workspace_reading()
        stale = await self.read(lambda: self.papers().outdated(wanted, closed)) if closed else []
        opened = ((path, self.open_document(path)) for path in texts)
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

    # -- lists --------------------------------------------------------------------------------

    def remember(self, snapshot: Snapshot, completion: Completion) -> int:
        """Keep a list for resolution; its number."""
        number = next(self._numbers)
        self._lists[number] = Shown(snapshot, completion)
        while len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)
        return number

    def recall(self, number: object) -> Shown | None:
        """The list of that number, unless it is too old."""
        return self._lists.get(number) if isinstance(number, int) else None

    def shown_work(self, work_id: str) -> Work | None:
        """A paper of a list that is remembered."""
        for shown in reversed(self._lists.values()):
            for candidate in shown.completion.candidates:
                if candidate.work is not None and candidate.work.id == work_id:
                    return candidate.work
        return None

    async def learn(self, feedback: Sequence[Feedback]) -> None:
        """Have the engine keep what the author accepted and dismissed, unless that is off."""
        if not self.engine_options().learning.enabled:
            return
        for one in feedback:
            self.tell(await self.engine.learn_async(one))

    # -- problems -----------------------------------------------------------------------------

    def tell(self, problems: Sequence[Problem], *, again: bool = False) -> None:
        """Show problems to the author: each once, unless it is the answer to an explicit act."""
        for problem in problems:
            if problem.code in self._told and not again:
                logger.info("%s", problem)
                continue
            self._told.add(problem.code)
            self._server.window_show_message(
                types.ShowMessageParams(
                    type=types.MessageType.Warning, message=f"Citewell: {problem}"
                )
            )


def _prepare(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:
        logger.exception("Indexing the bibliographies failed")
    # What a paper consists of stays: the collector need not walk over it again.
    gc.freeze()


def is_bibliography(document: OpenDocument, path: Path) -> bool:
    """True for a .bib, which is no manuscript."""
    return path.suffix.lower() == ".bib" or document.language_id in ("bib", "bibtex", "biblatex")
