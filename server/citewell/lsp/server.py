"""The composition of the language server: one object per connection, one module per feature."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from citewell import __version__
from citewell.lsp.diagnostics.requests import Diagnostics, pull_handlers
from citewell.lsp.features import features
from citewell.lsp.protocol.editor import ClientFlags, Editor, Settings
from citewell.lsp.protocol.jsonrpc import Protocol
from citewell.lsp.registry import Command, Registrations, Request, Switches, guarded
from citewell.lsp.requests import formatting
from citewell.lsp.state.session import EditorSession
from citewell.model.flavours import PAPER_SUFFIXES, USUAL_SUFFIXES

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
        """Answer a request or a command from now on."""
        if isinstance(row, Command):
            self.command(row.name)(row.handler)
        else:
            handler = guarded(self.editor, self.switches, row)
            self.feature(row.method, row.options)(handler)

    async def update(self) -> None:
        """Register with the client what the present settings require."""
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
        """Log an error; the features themselves report what concerns the author."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def create_server(
    overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
) -> Server:
    """A server with every feature, not yet connected. Imports nothing heavy."""
    # How long a pure-Python job on another thread may hold the interpreter at a time.
    sys.setswitchinterval(0.001)
    # A large bibliography is a million objects: walking over them takes a fifth of a second.
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
