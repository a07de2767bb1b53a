"""The composition of the language server: one object per connection, one module per feature."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from citewell import __version__
from citewell.lsp import (
    code_action,
    commands,
    completion,
    diagnostics,
    folding,
    formatting,
    hover,
    inlay,
    lens,
    links,
    navigation,
    online,
    picker_commands,
    reference_list,
    rename,
    symbols,
    tokens,
)
from citewell.lsp.client import ClientFlags
from citewell.lsp.registrations import GUARDED, Registrations
from citewell.lsp.session import Session
from citewell.lsp.settings import Settings, show
from citewell.lsp.text import DocumentStore, Protocol

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])
WATCHED = ("**/*.bib", "**/*.tex", "**/*.md", "**/*.qmd", "**/*.Rmd", "**/citewell.toml")


class Server(LanguageServer):
    """The server's state; the handlers stand beside it."""

    def __init__(self, overrides: Mapping[str, Any] | None, user_file: Path | None) -> None:
        super().__init__("citewell", __version__, protocol_cls=Protocol, max_workers=1)
        self.flags = ClientFlags()
        self.settings = Settings(overrides, user_file)
        self.session = Session(self)
        self.registrations = Registrations(self)
        self.formatter = formatting.Formatter(self)
        self.diagnostics = diagnostics.register(self)

    def feature(self, feature_name: str, options: Any | None = None) -> Callable[[F], F]:
        """Register a handler; what a setting turns off answers nothing (`offers`)."""
        register: Callable[[Any], Any] = super().feature(feature_name, options)
        if feature_name not in GUARDED:
            return register

        def guard(handler: F) -> F:
            register(self.registrations.guarded(feature_name, handler))
            return handler

        return guard

    @property
    def documents(self) -> DocumentStore:
        """The editor's open documents."""
        store = self.workspace
        assert isinstance(store, DocumentStore)
        return store

    @property
    def roots(self) -> list[Path]:
        """The workspace folders, deepest first, so that the first that holds a file is its own."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        if not uris and self.workspace.root_uri:
            uris = [self.workspace.root_uri]
        paths = [Path(path) for uri in uris if (path := to_fs_path(uri))]
        return sorted(paths, key=lambda path: len(path.parts), reverse=True)

    def shutdown(self) -> None:
        """The connection is gone, with or without a farewell."""
        self.diagnostics.close()
        self.session.close()
        if isinstance(self.protocol, Protocol):
            self.protocol.is_closed = True
        super().shutdown()  # type: ignore[no-untyped-call]

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Errors go to the log; what an author should know is told by the features."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def create_server(
    overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
) -> Server:
    """A server with every feature, not yet connected. Imports nothing heavy."""
    # A long pure-Python job in another thread holds the interpreter this long at a time.
    sys.setswitchinterval(0.001)
    # A large bibliography is a million objects: walking over them takes a fifth of a second.
    gc.set_threshold(20_000, 20, 50)
    server = Server(overrides, user_file)
    _register_life(server)
    _register_documents(server)
    completion.register(server)
    hover.register(server)
    navigation.register(server)
    rename.register(server)
    symbols.register(server)
    folding.register(server)
    links.register(server)
    inlay.register(server)
    tokens.register(server)
    lens.register(server)
    commands.register(server)
    picker_commands.register(server)
    code_action.register(server)
    online.register(server)
    reference_list.register(server)
    return server


def _register_life(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.flags = ClientFlags.of(params.capabilities)
        server.settings.take(params.initialization_options)
        server.diagnostics.announce()
        formatting.announce(server)
        assert isinstance(server.protocol, Protocol)
        server.protocol.on_capabilities = lambda announced: server.registrations.announce(
            announced, params.capabilities
        )

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        if server.flags.configuration:
            await server.settings.pull(server, server.roots)
        server.session.start()
        show(server, server.settings.news())
        await _register_with_client(server)
        await server.registrations.update()
        await server.formatter.update()

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.diagnostics.close()
        server.session.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if server.flags.configuration:
            await server.settings.pull(server, server.roots)
        else:
            server.settings.take(params.settings)
        server.session.reconfigure()
        show(server, server.settings.news())
        await server.registrations.update()
        await server.formatter.update()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        if server.flags.configuration:
            await server.settings.pull(server, server.roots)
        server.settings.forget_files()
        server.session.reconfigure()
        await server.registrations.update()
        await server.formatter.update()


def _register_documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.session.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        server.session.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.session.closed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [Path(path) for change in params.changes if (path := to_fs_path(change.uri))]
        if any(path.name == "citewell.toml" for path in paths):
            server.settings.forget_files()
            server.session.reconfigure()
            show(server, server.settings.news())
        server.session.touched(paths)
        await server.registrations.update()
        await server.formatter.update()


async def _register_with_client(server: Server) -> None:
    """Ask the client to tell of changed files and settings."""
    registrations: list[types.Registration] = []
    if server.flags.watch_files:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        registrations.append(
            types.Registration(
                id="citewell-files",
                method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
            )
        )
    if server.flags.watch_configuration:
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
            await server.client_register_capability_async(
                types.RegistrationParams(registrations=registrations)
            )
        except Exception as error:
            logger.warning("The editor does not tell of changes: %s", error)
