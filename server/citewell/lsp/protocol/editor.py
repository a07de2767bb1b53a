"""The editor at the other end: what it can do and holds, and everything that is sent to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.uris import to_fs_path

from citewell.lsp.protocol.client import ClientFlags
from citewell.lsp.protocol.jsonrpc import Protocol
from citewell.lsp.protocol.open_document import DocumentStore, OpenDocument

if TYPE_CHECKING:
    from citewell.lsp.protocol.settings import Settings
    from citewell.model import Problem

logger = logging.getLogger(__name__)

PROBLEM = "citewell/problem"
"""Sent to a client that shows problems itself."""
SETTINGS_SECONDS = 5.0
PULL_SECONDS = 2.0
APPLY_SECONDS = 60.0
"""An editor may ask its author before it applies an edit."""
REFRESH_SECONDS = 10.0
MAX_SHOWN = 3
"""Messages that are shown to the author, at most, after one change of settings."""


@lru_cache(maxsize=16)
def _deepest_first(uris: tuple[str, ...]) -> tuple[Path, ...]:
    """The paths of some folders."""
    paths = [Path(path) for uri in uris if (path := to_fs_path(uri))]
    return tuple(sorted(paths, key=lambda path: len(path.parts), reverse=True))


class Editor:
    """The client's side of the connection. For the event loop; the properties for any thread."""

    def __init__(self, server: LanguageServer, settings: Settings) -> None:
        self._server = server
        self.flags = ClientFlags()
        """The client's capabilities; known from `initialize` on."""
        self.settings = settings
        self._shown_codes: set[str] = set()
        self._configured = asyncio.Event()

    # -- what it holds ------------------------------------------------------------------------

    @property
    def protocol(self) -> Protocol:
        """The connection."""
        protocol = self._server.protocol
        assert isinstance(protocol, Protocol)
        return protocol

    @property
    def documents(self) -> DocumentStore:
        """The open documents."""
        return self.protocol.workspace

    def open_document(self, uri: str) -> OpenDocument | None:
        """An open document; None when the editor does not have it open."""
        return self.documents.open_document(uri)

    @property
    def encoding(self) -> str:
        """The negotiated position encoding: "utf-8", "utf-16" or "utf-32"."""
        return self.documents.encoding

    @property
    def roots(self) -> list[Path]:
        """The workspace folders, deepest first, so that the first that holds a file is its own."""
        uris = tuple(folder.uri for folder in self.documents.folders.values())
        if not uris and self.documents.root_uri:
            uris = (self.documents.root_uri,)
        return list(_deepest_first(uris))

    # -- settings -----------------------------------------------------------------------------

    async def configured(self) -> None:
        """Wait for the settings, which a client may send after its first request."""
        if not self._configured.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._configured.wait(), SETTINGS_SECONDS)
            self._configured.set()

    @property
    def is_configured(self) -> bool:
        """True once the settings are known, or were waited for in vain."""
        return self._configured.is_set()

    def settings_are_known(self) -> None:
        """Resume the callers that are waiting for the settings."""
        self._configured.set()

    async def pull_settings(self) -> None:
        """Ask for the settings of each folder, if the client answers such questions."""
        if not self.flags.configuration:
            return
        scopes: list[Path | None] = [*self.roots] or [None]
        request = self._server.workspace_configuration_async(
            types.ConfigurationParams(items=self.settings.questions(scopes))
        )
        try:
            answers = await asyncio.wait_for(asyncio.shield(request), PULL_SECONDS)
        except TimeoutError:
            logger.warning("The editor did not answer for its settings")
        except Exception as error:
            logger.warning("The editor refused the request for its settings: %s", error)
        else:
            self.settings.answered(scopes, answers or ())

    def show_wrong_settings(self) -> None:
        """Show the first problems of the settings to the author; the others go to the log."""
        for number, problem in enumerate(self.settings.news()):
            logger.warning("%s", problem)
            if number < MAX_SHOWN:
                self.warn(problem)

    # -- messages and questions to the author ---------------------------------------------------

    def show_problems(self, problems: Sequence[Problem], *, again: bool = False) -> None:
        """Show problems to the author: each code once, or `again` in response to an explicit
        action."""
        for problem in problems:
            if problem.code in self._shown_codes and not again:
                logger.info("%s", problem)
                continue
            self._shown_codes.add(problem.code)
            self.warn(problem, requested=again)

    def forget_shown(self) -> None:
        """Allow problems to be shown again that were shown before: the settings changed."""
        self._shown_codes.clear()

    def warn(self, problem: Problem, *, requested: bool = False) -> None:
        """Show a problem; `requested`: it is the response to an action of the author, who waits.

        A client that shows problems itself is sent the code as well, so that the author can
        silence it.
        """
        if self.flags.takes_problems:
            message = f"Citewell: {problem}"
            self.notify(PROBLEM, {"code": problem.code, "message": message, "asked": requested})
        else:
            self._show(types.MessageType.Warning, str(problem))

    def inform(self, text: str) -> None:
        """Show what was done."""
        self._show(types.MessageType.Info, text)

    def _show(self, kind: types.MessageType, text: str) -> None:
        self._server.window_show_message(
            types.ShowMessageParams(type=kind, message=f"Citewell: {text}")
        )

    async def ask(
        self, kind: types.MessageType, message: str, buttons: Sequence[str]
    ) -> str | None:
        """Ask a question with buttons. Returns the title of the pressed one, "" if the author
        pressed none, and None if the editor cannot ask questions."""
        actions = [types.MessageActionItem(title=title) for title in buttons]
        try:
            answer = await self._server.window_show_message_request_async(
                types.ShowMessageRequestParams(type=kind, message=message, actions=actions)
            )
        except Exception as error:
            logger.info("The editor puts no questions: %s", error)
            return None
        return answer.title if answer is not None else ""

    async def show_document(self, uri: str, selection: types.Range | None = None) -> None:
        """Open a document and take the author there."""
        await self._server.window_show_document_async(
            types.ShowDocumentParams(uri=uri, take_focus=True, selection=selection)
        )

    @property
    def progress(self) -> Progress:
        """The library's side of work-done progress; `lsp.progress` alone uses it."""
        return self._server.work_done_progress

    # -- what it is asked to do -----------------------------------------------------------------

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.protocol.notify(method, params)

    async def apply(self, change: types.WorkspaceEdit, label: str) -> str:
        """Have an edit applied. Returns the reason why it was not, or ""."""
        request = self._server.workspace_apply_edit_async(
            types.ApplyWorkspaceEditParams(edit=change, label=label)
        )
        try:
            result = await asyncio.wait_for(asyncio.shield(request), APPLY_SECONDS)
        except Exception as error:
            return str(error) or type(error).__name__
        return "" if result.applied else (result.failure_reason or "no reason given")

    async def refresh_diagnostics(self) -> None:
        """Have the client ask for diagnostics again."""
        await _answered(self._server.workspace_diagnostic_refresh_async(None))

    async def refresh_shown(self) -> None:
        """Have the client ask again for hints, tokens and lenses, as far as it can."""
        flags, server = self.flags, self._server
        if flags.refresh_hints:
            await _answered(server.workspace_inlay_hint_refresh_async(None))
        if flags.refresh_tokens:
            await _answered(server.workspace_semantic_tokens_refresh_async(None))
        if flags.refresh_lenses:
            await _answered(server.workspace_code_lens_refresh_async(None))

    async def register(self, registrations: Sequence[types.Registration]) -> None:
        """Register capabilities; raises what the client answers."""
        await self._server.client_register_capability_async(
            types.RegistrationParams(registrations=registrations)
        )

    async def unregister(self, gone: Sequence[types.Unregistration]) -> None:
        """Take registrations back; raises what the client answers."""
        await self._server.client_unregister_capability_async(
            types.UnregistrationParams(unregisterations=gone)
        )

    def as_wire(self, options: object) -> Any:
        """An object of the protocol as plain data."""
        return self.protocol._converter.unstructure(options)


async def _answered(request: Awaitable[None]) -> None:
    """Wait for the answer to a request to refresh."""
    try:
        await asyncio.wait_for(asyncio.shield(request), REFRESH_SECONDS)
    except Exception as error:
        logger.info("The editor did not refresh: %s", error)
