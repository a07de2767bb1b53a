"""The editor: its capabilities and documents, and everything sent to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.uris import to_fs_path

from citewell.lsp.protocol.jsonrpc import Protocol
from citewell.lsp.protocol.open_document import DocumentStore, OpenDocument
from citewell.model import Problem
from citewell.options import Options
from citewell.options.merge import Loaded, load

# The capabilities of the client, read once; features use these, never its name.


class ClientFlags(Struct, frozen=True, kw_only=True):
    """The capabilities that change what the server sends."""

    apply_edit: bool = False
    document_changes: bool = False
    """Versioned edits and file creation in one workspace edit."""
    create_files: bool = False
    change_annotations: bool = False
    label_details: bool = False
    item_tags: bool = False
    """Can show a completion item as deprecated, that is, better not accepted."""
    markdown_documentation: bool = True
    markdown_hover: bool = True
    configuration: bool = False
    watch_configuration: bool = False
    watch_files: bool = False
    progress: bool = False
    pull_diagnostics: bool = False
    """Requests diagnostics, and can be asked to repeat the request; other clients are sent them."""
    diagnostic_tags: bool = False
    related_information: bool = False
    workspace_folders: bool = False
    definition_links: bool = False
    """A definition may include its whole surrounding range."""
    nested_symbols: bool = False
    """Accepts symbols with a detail and a range for the name."""
    folding_limit: int = 0
    """Maximum number of folds; 0: unlimited."""
    action_literals: bool = False
    """Accepts code actions with a kind; other clients accept only commands."""
    resolve_edits: bool = False
    """Edits of a code action may be resolved when it is chosen."""
    show_document: bool = False
    snippets: bool = False
    refresh_hints: bool = False
    refresh_tokens: bool = False
    refresh_lenses: bool = False
    takes_problems: bool = False
    """Shows problems itself; it gets their codes, so that an author can silence each."""
    lists_references: bool = False
    """Shows a list of references, and is notified when the list may have changed."""

    register_formatting: bool = False
    """Accepts a formatter for some documents only."""
    cursor_on_character: bool = False
    """The author's cursor is on a character, not between two: a position inside a word may mean the
    end of the word."""

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> ClientFlags:
        """The flags for a client's capabilities; missing ones are off."""
        workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
        text = capabilities.text_document or types.TextDocumentClientCapabilities()
        window = capabilities.window or types.WindowClientCapabilities()
        edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
        completion = text.completion or types.CompletionClientCapabilities()
        item = completion.completion_item or types.ClientCompletionItemOptions()
        hover = text.hover or types.HoverClientCapabilities()
        operations = edit.resource_operations or ()
        watched = workspace.did_change_watched_files
        configuration = workspace.did_change_configuration
        action = text.code_action or types.CodeActionClientCapabilities()
        resolved = action.resolve_support.properties if action.resolve_support else ()
        shown = text.publish_diagnostics or types.PublishDiagnosticsClientCapabilities()
        refreshed = workspace.diagnostics
        pulls = text.diagnostic is not None and bool(refreshed and refreshed.refresh_support)
        return cls(
            apply_edit=bool(workspace.apply_edit),
            document_changes=bool(edit.document_changes),
            create_files=bool(edit.document_changes)
            and types.ResourceOperationKind.Create in operations,
            change_annotations=bool(edit.document_changes)
            and edit.change_annotation_support is not None,
            label_details=bool(item.label_details_support),
            item_tags=bool(
                item.tag_support
                and types.CompletionItemTag.Deprecated in item.tag_support.value_set
            ),
            markdown_documentation=_takes_markdown(item.documentation_format),
            markdown_hover=_takes_markdown(hover.content_format),
            configuration=bool(workspace.configuration),
            watch_configuration=bool(configuration and configuration.dynamic_registration),
            watch_files=bool(watched and watched.dynamic_registration),
            pull_diagnostics=pulls,
            diagnostic_tags=pulls or shown.tag_support is not None,
            related_information=pulls or bool(shown.related_information),
            progress=bool(window.work_done_progress),
            workspace_folders=bool(workspace.workspace_folders),
            definition_links=bool(text.definition and text.definition.link_support),
            nested_symbols=bool(
                text.document_symbol and text.document_symbol.hierarchical_document_symbol_support
            ),
            folding_limit=(text.folding_range.range_limit or 0) if text.folding_range else 0,
            action_literals=action.code_action_literal_support is not None,
            resolve_edits=bool(action.data_support) and "edit" in resolved,
            snippets=bool(item.snippet_support),
            show_document=bool(window.show_document and window.show_document.support),
            refresh_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
            refresh_tokens=bool(
                workspace.semantic_tokens and workspace.semantic_tokens.refresh_support
            ),
            refresh_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
            takes_problems=_announces(capabilities.experimental, "citewell", "problems"),
            lists_references=_announces(capabilities.experimental, "citewell", "references"),
            register_formatting=all(
                able is not None and bool(able.dynamic_registration)
                for able in (text.formatting, text.range_formatting)
            ),
            cursor_on_character=_announces(
                capabilities.experimental, "citewell", "cursorOnCharacter"
            ),
        )


def _takes_markdown(formats: object) -> bool:
    return isinstance(formats, (list, tuple)) and types.MarkupKind.Markdown in formats


def _announces(experimental: object, *names: str) -> bool:
    """True when a capability beyond the protocol is announced at this place of the tree."""
    node = experimental
    for name in names:
        node = node.get(name) if isinstance(node, Mapping) else getattr(node, name, None)
    return bool(node)


logger = logging.getLogger(__name__)

PROBLEM = "citewell/problem"
"""Notification to a client that shows problems itself."""
SETTINGS_SECONDS = 5.0
PULL_SECONDS = 2.0
APPLY_SECONDS = 60.0
"""Seconds; an editor may ask its author before it applies an edit."""
REFRESH_SECONDS = 10.0
MAX_SHOWN = 3
"""Maximum number of messages shown to the author after one change of settings."""


@lru_cache(maxsize=16)
def _deepest_first(uris: tuple[str, ...]) -> tuple[Path, ...]:
    """The paths of some folders."""
    paths = [Path(path) for uri in uris if (path := to_fs_path(uri))]
    return tuple(sorted(paths, key=lambda path: len(path.parts), reverse=True))


class Editor:
    """The client's side of the connection. For the event loop; the properties are thread-safe."""

    def __init__(self, server: LanguageServer, settings: Settings) -> None:
        self._server = server
        self.flags = ClientFlags()
        """The client's capabilities; known from `initialize` on."""
        self.settings = settings
        self._shown_codes: set[str] = set()
        self._configured = asyncio.Event()

    # -- state ----------------------------------------------------------------------------------

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
        """The workspace folders, deepest first, so that the first match of a file is its own."""
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
        """True once the settings are known, or the wait for them timed out."""
        return self._configured.is_set()

    def settings_are_known(self) -> None:
        """Resume the callers that are waiting for the settings."""
        self._configured.set()

    async def pull_settings(self) -> None:
        """Request the settings of each folder, if the client supports it."""
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
        """Allow problems to be shown again: the settings changed."""
        self._shown_codes.clear()

    def warn(self, problem: Problem, *, requested: bool = False) -> None:
        """Show a problem; `requested`: it answers an action of the author. A client that shows
        problems itself is sent the code as well, so that the author can silence it."""
        if self.flags.takes_problems:
            message = f"Citewell: {problem}"
            self.notify(PROBLEM, {"code": problem.code, "message": message, "asked": requested})
        else:
            self._show(types.MessageType.Warning, str(problem))

    def inform(self, text: str) -> None:
        """Show an information message."""
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
        """Open a document and select a range in it."""
        await self._server.window_show_document_async(
            types.ShowDocumentParams(uri=uri, take_focus=True, selection=selection)
        )

    @property
    def progress(self) -> Progress:
        """The library's part of work-done progress, used by `lsp.progress` alone."""
        return self._server.work_done_progress

    # -- requests to the editor -----------------------------------------------------------------

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
        """Have the client request diagnostics again."""
        await _answered(self._server.workspace_diagnostic_refresh_async(None))

    async def refresh_shown(self) -> None:
        """Have the client request hints, tokens and lenses again, as far as it supports it."""
        flags, server = self.flags, self._server
        if flags.refresh_hints:
            await _answered(server.workspace_inlay_hint_refresh_async(None))
        if flags.refresh_tokens:
            await _answered(server.workspace_semantic_tokens_refresh_async(None))
        if flags.refresh_lenses:
            await _answered(server.workspace_code_lens_refresh_async(None))

    async def register(self, registrations: Sequence[types.Registration]) -> None:
        """Register capabilities; raises the client's error."""
        await self._server.client_register_capability_async(
            types.RegistrationParams(registrations=registrations)
        )

    async def unregister(self, gone: Sequence[types.Unregistration]) -> None:
        """Unregister capabilities; raises the client's error."""
        await self._server.client_unregister_capability_async(
            types.UnregistrationParams(unregisterations=gone)
        )

    def as_wire(self, options: object) -> Any:
        """A protocol object as plain data."""
        return self.protocol._converter.unstructure(options)


async def _answered(request: Awaitable[None]) -> None:
    """Wait for the answer to a refresh request."""
    try:
        await asyncio.wait_for(asyncio.shield(request), REFRESH_SECONDS)
    except Exception as error:
        logger.info("The editor did not refresh: %s", error)


# The effective settings of each workspace folder, and the problems of invalid ones.

SECTION = "citewell"


class Settings:
    """The settings from files, environment, editor and flags, per folder."""

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
    ) -> None:
        self._overrides = dict(overrides or {})
        self.user_file = user_file
        self._wire: dict[Path | None, Mapping[str, Any]] = {None: {}}
        self._loaded: dict[Path | None, Loaded] = {}
        self._reported: set[str] = set()

    def take(self, wire: object) -> None:
        """The editor's settings for all folders: initialization options, or a pushed change."""
        self._wire = {None: section(wire)}
        self._loaded.clear()

    @staticmethod
    def questions(scopes: Sequence[Path | None]) -> list[types.ConfigurationItem]:
        """The request for the editor's settings of each folder."""
        return [
            types.ConfigurationItem(
                section=SECTION, scope_uri=root.as_uri() if root is not None else None
            )
            for root in scopes
        ]

    def answered(self, scopes: Sequence[Path | None], answers: Sequence[object]) -> None:
        """Apply the editor's answers for these folders; missing ones leave the settings
        unchanged."""
        for root, answer in zip(scopes, answers, strict=False):
            if answer:
                self._wire[root] = section(answer)
        self._loaded.clear()

    def forget_files(self) -> None:
        """Read the settings files again when settings are next needed."""
        self._loaded.clear()

    def of(self, root: Path | None, document: Path | None = None) -> Options:
        """The settings for the documents of a folder (or for a document in none)."""
        key = root if root is not None else (document.parent if document is not None else None)
        if key not in self._loaded:
            wire = self._wire.get(root, self._wire[None])
            self._loaded[key] = load(
                root,
                wire=wire,
                overrides=self._overrides or None,
                document=document if root is None else None,
                user_file=self.user_file,
            )
        return self._loaded[key].options

    def news(self) -> list[Problem]:
        """The new problems of the loaded settings."""
        fresh: list[Problem] = []
        for loaded in self._loaded.values():
            for problem in loaded.problems:
                if str(problem) not in self._reported:
                    self._reported.add(str(problem))
                    fresh.append(problem)
        return fresh


def section(wire: object) -> Mapping[str, Any]:
    """Citewell's part of an editor's settings, which may be nested under its name."""
    if not isinstance(wire, Mapping):
        return {}
    inner = wire.get(SECTION, wire)
    return inner if isinstance(inner, Mapping) else {}


# Refresh requests to the editor, since the display of one file depends on others.
#
# A new entry changes the hints of every paper that cites it; a new citation changes the count above
# the entry. By itself, an editor refreshes only the edited file.

CHANGED = "citewell/referencesChanged"
"""Notification to a client that shows a list of references; it requests the list again."""
QUIET_SECONDS = 0.4
"""Seconds without a change before the editor is asked to refresh."""


class Refresher:
    """Sends one request of each kind after a burst of changes. For the event loop."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None

    def changed(self, uri: str) -> None:
        """Handle an edit of a document, or another change. An editor with a single open document
        refreshes that one by itself."""
        if not uri or len(self._editor.documents.text_documents) > 1:
            self.soon()

    def soon(self) -> None:
        """Request a refresh once nothing has changed for `QUIET_SECONDS`."""
        flags = self._editor.flags
        able = (flags.refresh_hints, flags.refresh_tokens, flags.refresh_lenses)
        if not (any(able) or flags.lists_references):
            return
        if self._timer is not None:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(QUIET_SECONDS, self._ask)

    def close(self) -> None:
        """Send no more requests."""
        if self._timer is not None:
            self._timer.cancel()

    def _ask(self) -> None:
        self._timer = None
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._ask_all())
        else:
            # The editor has not answered yet: repeat the request afterwards.
            self._asking.add_done_callback(lambda _: self.soon())

    async def _ask_all(self) -> None:
        if self._editor.flags.lists_references:
            self._editor.notify(CHANGED, {})
        await self._editor.refresh_shown()


T = TypeVar("T")


def arguments_of(editor: Editor, command: str, sent: Any, kind: type[T]) -> T | None:
    """The arguments as a `kind`; None if they are invalid, which is shown to the author."""
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        problem = Problem("command-arguments", f"Invalid arguments for `{command}`: {error}.")
        editor.show_problems([problem], again=True)
        return None
