"""A row per request and per command, from which handlers, capabilities and switches follow."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.protocol.editor import Editor
from citewell.model.document import LANGUAGES, Format, format_of
from citewell.options.tree import Feature

if TYPE_CHECKING:
    from citewell.options.tree import DiagnosticLevel, DiagnosticsOptions, FeatureOptions

# The switches of `features`: the features offered in each document.


class Switches:
    """The features that are switched on. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers) -> None:
        self._editor = editor
        self._buffers = buffers

    def is_on(self, switch: Feature, uri: str) -> bool:
        """Whether a feature is offered in a document; "" stands for the workspace's .bib files."""

        options = self._buffers.options_of(uri).features
        return is_offered(options, switch, self._kind(uri))

    def formats(self, switches: Iterable[Feature], among: Iterable[Format]) -> frozenset[Format]:
        """The kinds of files with one of the switches on, by the workspace's settings."""

        options = self._buffers.workspace_options().features
        return frozenset(
            kind for kind in among if any(is_offered(options, one, kind) for one in switches)
        )

    def _kind(self, uri: str) -> Format:
        if not uri:
            return Format.BIBTEX
        path = self._buffers.path_of(uri)
        kind = format_of(path) if path is not None else None
        if kind is not None:
            return kind
        document = self._editor.open_document(uri)
        language = document.language_id if document is not None else None
        named = (kind for kind, names in LANGUAGES.items() if language in names)
        return next(named, Format.LATEX)


Handler = Callable[[Any], Awaitable[Any]]
ALL_FORMATS = frozenset(Format)
BIB_ONLY = frozenset({Format.BIBTEX})


class Request(Struct, frozen=True, eq=False):
    """One supported request of the protocol."""

    method: str
    handler: Handler
    options: Any = None
    """Its value in the server's capabilities."""
    switches: tuple[Feature, ...] = ()
    """Names in `features.switches`: one that is on suffices to announce it. A single one also
    decides in each document; a handler with several checks them itself."""
    formats: frozenset[Format] = ALL_FORMATS
    """The kinds of files with answers."""
    is_part: bool = False
    """Whether the capability of another request covers it, as for `prepareRename`."""

    @property
    def capability(self) -> str:
        """The attribute of the server's capabilities: "document_symbol_provider"."""
        place = "workspace_" if self.is_of_workspace else ""
        return f"{place}{self.name}_provider"

    @property
    def name(self) -> str:
        """The attribute of the client's capabilities: "document_symbol", "semantic_tokens"."""
        name = self.method.split("/")[1]
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()

    @property
    def is_of_workspace(self) -> bool:
        """True for "workspace/symbol", False for "textDocument/hover"."""
        return self.method.startswith("workspace/")

    @property
    def is_switched(self) -> bool:
        """True when its capability depends on the switches."""
        return bool(self.switches) and not self.is_part


class Command(Struct, frozen=True, eq=False):
    """One command that a client can execute."""

    name: str
    handler: Callable[..., Awaitable[Any]]


Handlers = tuple[Request | Command, ...]


def guarded(editor: Editor, switches: Switches, request: Request) -> Handler:
    """The handler of a request; with a single switch it returns nothing where that is off."""
    if len(request.switches) != 1:
        return request.handler
    (switch,), handler = request.switches, request.handler

    @functools.wraps(handler)
    async def answer(params: Any) -> Any:
        await editor.configured()
        document = getattr(params, "text_document", None)
        if not switches.is_on(switch, document.uri if document is not None else ""):
            return None
        return await handler(params)

    return answer


def registered_as(request: Request) -> str:
    """The method to register; the requests of semantic tokens are registered under one name."""
    is_tokens = request.method == types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL
    return "textDocument/semanticTokens" if is_tokens else request.method


# Requests announced to the editor: the switches of `features`.
#
# A request that is off in all its files is not announced. One that is off in some files only,
# because another tool serves them, is registered for the languages of the others if the editor
# supports dynamic registration; so is one that is turned on later. A request that was announced and
# then turned off returns nothing.

logger = logging.getLogger(__name__)


class Registrations:
    """Tracks announced and registered requests. For the event loop."""

    def __init__(self, editor: Editor, switches: Switches, requests: Iterable[Request]) -> None:
        self._editor = editor
        self._switches = switches
        self._requests = [request for request in requests if request.is_switched]
        self._client: types.ClientCapabilities | None = None
        self._later: dict[str, object] = {}
        """The options of requests that can be registered later, by method."""
        self._registered: dict[str, frozenset[Format]] = {}

    def announce(
        self, announced: types.ServerCapabilities, client: types.ClientCapabilities
    ) -> None:
        """Remove from the capabilities requests that are off, or on in some files only."""
        self._client = client
        for request in self._requests:
            options = getattr(announced, request.capability)
            wanted = self._wanted(request)
            takes = self._takes_registrations(request)
            if options is None or wanted == request.formats or (wanted and not takes):
                continue
            setattr(announced, request.capability, None)
            if takes:
                self._later[request.method] = options

    async def update(self) -> None:
        """Register requests that are on and were not announced, and unregister those that are
        off."""
        new, gone = [], []
        for request in self._requests:
            if request.method not in self._later:
                continue
            wanted = self._wanted(request)
            given = self._registered.get(request.method, frozenset())
            if wanted == given:
                continue
            if given:
                gone.append(types.Unregistration(_id(request), registered_as(request)))
            if wanted:
                new.append(self._registration(request, wanted))
            self._registered[request.method] = wanted
        try:
            if gone:
                await self._editor.unregister(gone)
            if new:
                await self._editor.register(new)
        except Exception as error:
            logger.warning("The editor does not take what is offered: %s", error)

    def _wanted(self, request: Request) -> frozenset[Format]:
        return self._switches.formats(request.switches, request.formats)

    def _takes_registrations(self, request: Request) -> bool:
        assert self._client is not None
        client = self._client
        part = client.workspace if request.is_of_workspace else client.text_document
        return bool(getattr(getattr(part, request.name, None), "dynamic_registration", False))

    def _registration(self, request: Request, kinds: frozenset[Format]) -> types.Registration:
        options = self._later[request.method]
        registered: dict[str, Any] = {}
        if not isinstance(options, bool):
            registered = self._editor.as_wire(options)
        if not request.is_of_workspace:
            names = [name for kind in Format if kind in kinds for name in LANGUAGES[kind]]
            registered["documentSelector"] = [{"language": name} for name in names]
        return types.Registration(_id(request), registered_as(request), registered)


def _id(request: Request) -> str:
    return f"citewell-{request.capability}"


# The features offered to an editor: the author's switches, and the work of another tool.
#
# A switch set by the author counts everywhere. An unset one is on, except for features of the tool
# in `features.coexist` in the documents that it serves: LaTeX and .bib files, never Markdown.

_TEX, _BIB = Format.LATEX, Format.BIBTEX

DOES: Mapping[str, Mapping[Feature, frozenset[Format]]] = {
    "texlab": {
        "complete-keys": frozenset({_TEX}),
        "complete-bib": frozenset({_BIB}),
        "complete-paths": frozenset({_TEX}),
        "hover-keys": frozenset({_TEX, _BIB}),
        "definition": frozenset({_TEX, _BIB}),
        "references": frozenset({_TEX, _BIB}),
        "highlights": frozenset({_TEX, _BIB}),
        "rename": frozenset({_TEX, _BIB}),
        "symbols": frozenset({_BIB}),
        "workspace-symbols": frozenset({_BIB}),
        "folding": frozenset({_BIB}),
        "formatting": frozenset({_BIB}),
        "links": frozenset({_TEX}),
    },
    "latexWorkshop": {
        "complete-keys": frozenset({_TEX}),
        "complete-bib": frozenset({_BIB}),
        "hover-keys": frozenset({_TEX}),
        "definition": frozenset({_TEX}),
        "symbols": frozenset({_BIB}),
        "formatting": frozenset({_BIB}),
    },
}
"""The switches that correspond to each tool's features, and their files."""

REPORTS: Mapping[str, tuple[str, ...]] = {
    "texlab": (
        "undefined-key",
        "unused-entry",
        "bib-duplicate-key",
        "bib-unclosed",
        "bib-missing-key",
        "bib-missing-equals",
        "bib-missing-value",
    ),
    # Its diagnostics are the messages of a LaTeX run.
    "latexWorkshop": (),
}
"""The diagnostics that each tool also reports."""


def is_offered(options: FeatureOptions, switch: Feature, kind: Format) -> bool:
    """Whether a feature is offered in files of a kind."""
    chosen = options.switches.get(switch)
    if chosen is not None:
        return chosen
    return kind not in DOES.get(options.coexist, {}).get(switch, ())


def left_diagnostics(
    options: FeatureOptions, diagnostics: DiagnosticsOptions, kind: Format
) -> DiagnosticsOptions:
    """The settings of the diagnostics with those of the other tool turned off, unless the author
    named them, or a prefix of them."""
    codes = REPORTS.get(options.coexist, ())
    if kind is Format.MARKDOWN or not codes:
        return diagnostics
    named = diagnostics.severity
    off: dict[str, DiagnosticLevel] = {
        code: "off"
        for code in codes
        if not any(code == name or code.startswith(f"{name}-") for name in named)
    }
    return replace(diagnostics, severity={**off, **named})
