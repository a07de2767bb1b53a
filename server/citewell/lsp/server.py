"""The composition of the language server: one object per connection, one module per feature."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from citewell import __version__
from citewell.engine.processes import share_one_heap
from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.commands import execute as commands
from citewell.lsp.commands import explore, fetch, online, review
from citewell.lsp.commands import picker as picker_commands
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edit_applier import EditApplier
from citewell.lsp.documents.projects import CHECKS, Projects, preload
from citewell.lsp.protocol.editor import ClientFlags, Editor, Refresher, Settings
from citewell.lsp.protocol.jsonrpc import Protocol
from citewell.lsp.protocol.progress import LibraryProgress, Obstacles
from citewell.lsp.registry import Command, Handlers, Registrations, Request, Switches, guarded
from citewell.lsp.requests import (
    code_action,
    completion,
    diagnostics,
    display,
    formatting,
    hover,
    navigation,
    outline,
)
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.requests.code_action import providers
from citewell.lsp.requests.diagnostics import Diagnostics, pull_handlers
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import (
    Cards,
    EditQueue,
    PickerHistory,
    ReviewedFiles,
    SearchPrefetch,
    ShownLists,
)
from citewell.lsp.state.zotero import Zotero
from citewell.model.document import PAPER_SUFFIXES, USUAL_SUFFIXES
from citewell.options import Options

# The state of a connection: documents and projects, checks, the engine, shown lists.
#
# Papers are searched in the worker process. All tables here belong to the event loop.


class EditorSession:
    """The state behind the handlers."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.background = editor.protocol.request_priority.background("citewell-background")
        """The thread for work that no request waits for."""
        self.buffers = Buffers(editor)
        """The author's files in the editor."""
        self.engine = WorkerEngine(Options())
        """The search engine. Its process starts on demand, with the settings of `start`."""
        self.projects = Projects(editor, self.buffers, self.background, self.wake)
        """The open documents and their projects, in their current state."""
        self.checks = ReferenceChecks(editor, self.buffers, self.engine, self.background)
        """The checks of references."""
        self.reviewed = ReviewedFiles()
        """The findings of reviews."""
        self.applier = EditApplier(editor, self.buffers, self.projects)
        """Edits of the author's files, through the editor."""
        self.obstacles = Obstacles(editor, self.buffers.allow)
        self.lists = ShownLists()
        """Completion lists in memory, for requests of the client."""
        self.cards = Cards(editor.show_problems)
        """Rendered references, and records of the library."""
        self.zotero = Zotero(editor.show_problems)
        """The entries of the local Zotero, if the author enabled it."""
        self.opening = LibraryProgress(editor)
        self.refresher = Refresher(editor)
        self.buffers.watchers.append(self.refresher.changed)
        self.prefetch = SearchPrefetch()
        """The longer search for the placeholder being typed."""
        self.prepared = SearchPrefetch(pause=0.0)
        """The search for the place at which a cite command is being typed."""
        self.picker_history = PickerHistory()
        """The lists shown in the picker."""
        self.edits = EditQueue(editor, self.buffers, self.engine)
        """Edits of the author's files, one at a time."""
        self._is_closed = False
        """An editor may end the session while its settings are still requested."""

    # -- life cycle -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start with known settings: load the scanners in the background. The worker starts when a
        document with citations or placeholders is opened or written (`wake`)."""
        if self._is_closed:
            return
        share_one_heap()
        self._editor.settings_are_known()
        self.engine.configure(self.buffers.workspace_options())
        self.projects.start()
        self.background.submit(preload, CHECKS)
        self.zotero.configure(self.buffers.workspace_options().zotero)

    def close(self) -> None:
        """End the worker and the threads."""
        self._is_closed = True
        self.prefetch.stop()
        self.prepared.stop()
        self.opening.stop()
        self.zotero.close()
        self.refresher.close()
        self.engine.close()
        self.projects.close()
        self.background.shutdown(wait=False, cancel_futures=True)

    def reconfigure(self) -> None:
        """Apply changed settings: scan and search again."""
        if self._is_closed:
            return
        self.prefetch.stop()
        self.prepared.stop()
        self.buffers.changed()
        self._editor.forget_shown()
        self.projects.forget()
        self.cards.forget_records()
        options = self.buffers.workspace_options()
        if self.engine.configure(options):
            self.opening.watch(self.engine, options.library.name)
        if self._editor.is_configured:
            self.zotero.configure(options.zotero)

    def wake(self) -> None:
        """Start the worker in advance of a request for papers."""
        if not self.engine.begun and not self._is_closed:
            self.engine.start()
            self.opening.watch(self.engine, self.buffers.workspace_options().library.name)

    # -- documents ----------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """Scan a newly opened document before the first request."""
        self.buffers.changed(uri)
        self.projects.opened(uri)

    def changed(self, uri: str) -> None:
        """Handle an edit of a document; other documents may depend on a .bib."""
        self.buffers.changed(uri, others=uri.lower().endswith(".bib"))

    def closed(self, uri: str) -> None:
        """Use the text on disk of a closed document again."""
        self.buffers.changed(uri)
        self.projects.closed(uri)

    def touched(self, paths: Sequence[Path]) -> None:
        """Handle files changed on disk."""
        if paths:
            self.buffers.changed()


# The table of features: one line each, with the objects for its handlers.


def features(
    editor: Editor, session: EditorSession, switches: Switches, checked: diagnostics.Diagnostics
) -> Handlers:
    """Every request and command supported from the start, in the order of registration."""
    buffers, checks, projects = session.buffers, session.checks, session.projects
    consent = online.Consent(editor, buffers, session.reconfigure)
    engine, lists, zotero = session.engine, session.lists, session.zotero
    applier, edits, obstacles = session.applier, session.edits, session.obstacles
    citing = CitationService(
        projects,
        engine,
        checks,
        zotero=zotero,
        lists=lists,
        prefetch=session.prefetch,
        prepared=session.prepared,
    )
    cards = hover.HoverCards(
        editor,
        projects,
        checks,
        engine=engine,
        cards=session.cards,
        citing=citing,
        zotero=zotero,
        switches=switches,
    )
    inserter = commands.Inserter(
        projects, applier, edits=edits, citing=citing, lists=lists, obstacles=obstacles
    )
    picker = picker_commands.CitationPicker(
        buffers,
        projects,
        checks,
        engine=engine,
        applier=applier,
        edits=edits,
        citing=citing,
        history=session.picker_history,
        obstacles=obstacles,
    )
    actions = code_action.CodeActions(
        editor,
        buffers,
        projects,
        applier=applier,
        edits=edits,
        obstacles=obstacles,
        offering=providers(
            buffers,
            checks,
            session.reviewed,
            engine=engine,
            zotero=zotero,
            citing=citing,
            show_problems=editor.show_problems,
        ),
    )
    return tuple(
        chain(
            diagnostics.handlers(checked),
            completion.handlers(
                editor,
                buffers,
                projects,
                engine=engine,
                citing=citing,
                lists=lists,
                switches=switches,
            ),
            hover.handlers(editor, projects, cards),
            navigation.handlers(editor, projects),
            navigation.rename_handlers(editor, projects),
            outline.symbol_handlers(editor, buffers, projects),
            outline.folding_handlers(editor, projects),
            outline.link_handlers(editor, projects),
            display.inlay_handlers(buffers, projects, checks),
            display.token_handlers(buffers, projects),
            display.lens_handlers(editor, buffers, projects, checks),
            commands.handlers(editor, engine, zotero, inserter),
            picker_commands.handlers(editor, picker),
            explore.handlers(editor, explore.Explorer(editor, picker)),
            review.handlers(editor, projects, engine, session.reviewed),
            code_action.handlers(editor, buffers, actions),
            online.handlers(editor, buffers, projects, consent, engine=engine, checks=checks),
            fetch.fetch_handlers(
                editor,
                buffers,
                projects,
                consent,
                checks=checks,
                forget_records=session.cards.forget_records,
            ),
            commands.reference_list_handlers(editor, projects, checks),
        )
    )


logger = logging.getLogger(__name__)

WATCHED_GLOBS = (
    *(f"**/*{suffix}" for suffix in dict.fromkeys((".bib", *PAPER_SUFFIXES, *USUAL_SUFFIXES))),
    "**/citewell.toml",
)


class Server(LanguageServer):
    """One connection: the editor, the session, and the handlers between them."""

    def __init__(self, overrides: Mapping[str, Any] | None, user_file: Path | None) -> None:
        super().__init__("citewell", __version__, protocol_cls=Protocol, max_workers=1)
        self.editor = Editor(self, Settings(overrides, user_file))
        self.session = EditorSession(self.editor)
        self.switches = Switches(self.editor, self.session.buffers)
        self.diagnostics = Diagnostics(
            self.editor,
            self.session.buffers,
            self.session.projects,
            checks=self.session.checks,
            reviewed=self.session.reviewed,
            refresher=self.session.refresher,
            background=self.session.background,
        )
        formatters = formatting.handlers(self.editor, self.session.projects)
        self.formatter = formatting.Formatter(self.editor, self.switches, formatters, self.add)
        offered = features(self.editor, self.session, self.switches, self.diagnostics)
        requests = [one for one in offered if isinstance(one, Request)]
        self.registrations = Registrations(self.editor, self.switches, requests)
        for one in offered:
            self.add(one)

    def add(self, row: Request | Command) -> None:
        """Add a request or a command."""
        if isinstance(row, Command):
            self.command(row.name)(row.handler)
        else:
            handler = guarded(self.editor, self.switches, row)
            self.feature(row.method, row.options)(handler)

    async def update(self) -> None:
        """Register requests with the client, according to the current settings."""
        await self.registrations.update()
        await self.formatter.update()

    def shutdown(self) -> None:
        """Release everything: the connection is gone, with or without a `shutdown` request."""
        self.diagnostics.close()
        self.session.close()
        if isinstance(self.protocol, Protocol):
            self.protocol.is_closed = True
        super().shutdown()  # type: ignore[no-untyped-call]

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error; the features report problems to the author themselves."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def create_server(
    overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
) -> Server:
    """A server with every feature, not yet connected. Imports nothing heavy."""
    # Maximum time that a pure-Python job on another thread holds the interpreter.
    sys.setswitchinterval(0.001)
    # A large bibliography is a million objects: visiting them takes a fifth of a second.
    gc.set_threshold(20_000, 20, 50)
    server = Server(overrides, user_file)
    _register_life(server)
    _register_documents(server)
    return server


def _register_life(server: Server) -> None:
    editor, session = server.editor, server.session

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        editor.flags = ClientFlags.of(params.capabilities)
        editor.settings.take(params.initialization_options)
        if editor.flags.pull_diagnostics:
            for request in pull_handlers(server.diagnostics):
                server.add(request)
        server.formatter.announce()
        editor.protocol.on_capabilities = lambda announced: server.registrations.announce(
            announced, params.capabilities
        )

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        await editor.pull_settings()
        session.start()
        editor.show_wrong_settings()
        await _register_with_client(editor)
        await server.update()

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.diagnostics.close()
        session.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if editor.flags.configuration:
            await editor.pull_settings()
        else:
            editor.settings.take(params.settings)
        session.reconfigure()
        editor.show_wrong_settings()
        await server.update()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        await editor.pull_settings()
        editor.settings.forget_files()
        session.reconfigure()
        await server.update()


def _register_documents(server: Server) -> None:
    editor, session = server.editor, server.session

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        session.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        session.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [Path(path) for change in params.changes if (path := to_fs_path(change.uri))]
        if any(path.name == "citewell.toml" for path in paths):
            editor.settings.forget_files()
            session.reconfigure()
            editor.show_wrong_settings()
        session.touched(paths)
        await server.update()


async def _register_with_client(editor: Editor) -> None:
    """Ask the client to report changed files and settings."""
    registrations: list[types.Registration] = []
    if editor.flags.watch_files:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED_GLOBS]
        registrations.append(
            types.Registration(
                id="citewell-files",
                method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
            )
        )
    if editor.flags.watch_configuration:
        registrations.append(
            types.Registration(
                id="citewell-settings",
                method=types.WORKSPACE_DID_CHANGE_CONFIGURATION,
                register_options=types.DidChangeConfigurationRegistrationOptions(
                    section="citewell"
                ),
            )
        )
    if registrations:
        try:
            await editor.register(registrations)
        except Exception as error:
            logger.warning("The editor refused to report changes: %s", error)
