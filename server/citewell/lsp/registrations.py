"""What the editor is told that it may ask for, and what it is answered: the switches of `features`.

What is off wherever it could serve is not announced. What is off in some files alone, because
another tool serves these, is registered for the languages of the others, in an editor that takes
registrations; so is what is turned on later. What was announced and is turned off answers nothing.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from msgspec import Struct

from citewell.model.document import Format, format_of

if TYPE_CHECKING:
    from citewell.lsp.server import Server

logger = logging.getLogger(__name__)

_EVERY = frozenset(Format)
_BIB = frozenset({Format.BIBTEX})
LANGUAGES: Mapping[Format, tuple[str, ...]] = {
    Format.LATEX: ("latex", "tex", "plaintex"),
    Format.BIBTEX: ("bibtex", "bib", "biblatex"),
    Format.MARKDOWN: ("markdown", "quarto", "rmd"),
}
"""The names that editors give to the languages of each kind of file."""

R = TypeVar("R")
Handler = Callable[[Any], Awaitable[R]]


class Offer(Struct, frozen=True):
    """One request that an editor may make."""

    method: str
    provider: str
    """The attribute of the server's capabilities."""
    switches: tuple[str, ...]
    """One that is on is enough to announce it."""
    client: str
    """The attribute of the client's capabilities, below `text_document` or `workspace`."""
    kinds: frozenset[Format] = _EVERY
    """The kinds of files in which it has answers."""


OFFERS = (
    Offer(
        types.TEXT_DOCUMENT_COMPLETION,
        "completion_provider",
        ("complete_keys", "complete_papers", "complete_bib", "complete_paths"),
        "completion",
    ),
    Offer(
        types.TEXT_DOCUMENT_HOVER, "hover_provider", ("hover_keys", "hover_placeholders"), "hover"
    ),
    Offer(types.TEXT_DOCUMENT_DEFINITION, "definition_provider", ("definition",), "definition"),
    Offer(types.TEXT_DOCUMENT_REFERENCES, "references_provider", ("references",), "references"),
    Offer(
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,
        "document_highlight_provider",
        ("highlights",),
        "document_highlight",
    ),
    Offer(types.TEXT_DOCUMENT_RENAME, "rename_provider", ("rename",), "rename"),
    Offer(
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
        "document_symbol_provider",
        ("symbols",),
        "document_symbol",
        _BIB,
    ),
    Offer(
        types.WORKSPACE_SYMBOL, "workspace_symbol_provider", ("workspace_symbols",), "symbol", _BIB
    ),
    Offer(
        types.TEXT_DOCUMENT_FOLDING_RANGE,
        "folding_range_provider",
        ("folding",),
        "folding_range",
        _BIB,
    ),
    Offer(types.TEXT_DOCUMENT_DOCUMENT_LINK, "document_link_provider", ("links",), "document_link"),
    Offer(
        types.TEXT_DOCUMENT_CODE_ACTION, "code_action_provider", ("code_actions",), "code_action"
    ),
    Offer(
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        "semantic_tokens_provider",
        ("semantic_tokens",),
        "semantic_tokens",
    ),
)

GUARDED: Mapping[str, str] = {
    types.TEXT_DOCUMENT_DEFINITION: "definition",
    types.TEXT_DOCUMENT_REFERENCES: "references",
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: "highlights",
    types.TEXT_DOCUMENT_PREPARE_RENAME: "rename",
    types.TEXT_DOCUMENT_RENAME: "rename",
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: "symbols",
    types.WORKSPACE_SYMBOL: "workspace_symbols",
    types.TEXT_DOCUMENT_FOLDING_RANGE: "folding",
    types.TEXT_DOCUMENT_FORMATTING: "formatting",
    types.TEXT_DOCUMENT_RANGE_FORMATTING: "formatting",
    types.TEXT_DOCUMENT_DOCUMENT_LINK: "links",
    types.TEXT_DOCUMENT_CODE_ACTION: "code_actions",
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: "semantic_tokens",
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: "semantic_tokens",
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: "semantic_tokens",
}
"""The requests that one switch turns off. Completion and hover look at several themselves."""


class Registrations:
    """What was announced and registered. For the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._client: types.ClientCapabilities | None = None
        self._later: dict[str, object] = {}
        """What can be registered, with its options, by method."""
        self._registered: dict[str, frozenset[Format]] = {}

    # -- answers ------------------------------------------------------------------------------

    def is_on(self, switch: str, uri: str) -> bool:
        """Whether something is offered in a document; "" stands for the workspace's .bib files."""
        from citewell.features.coexist import is_offered

        options = self._server.session.buffers.options_of(uri).features
        return is_offered(options, switch, self._kind(uri))

    def guarded(self, method: str, handler: Handler[R]) -> Handler[R | None]:
        """The handler of a request, which answers nothing where its switch is off."""
        switch = GUARDED[method]

        @functools.wraps(handler)
        async def guarded(params: Any) -> R | None:
            await self._server.session.configured()
            document = getattr(params, "text_document", None)
            if not self.is_on(switch, document.uri if document is not None else ""):
                return None
            return await handler(params)

        return guarded

    def _kind(self, uri: str) -> Format:
        if not uri:
            return Format.BIBTEX
        path = self._server.session.buffers.path_of(uri)
        kind = format_of(path) if path is not None else None
        if kind is not None:
            return kind
        document = self._server.documents.open_document(uri)
        language = document.language_id if document is not None else None
        named = (kind for kind, names in LANGUAGES.items() if language in names)
        return next(named, Format.LATEX)

    # -- announcements --------------------------------------------------------------------------

    def announce(
        self, announced: types.ServerCapabilities, client: types.ClientCapabilities
    ) -> None:
        """Take out of the capabilities what is off, or on in some files alone."""
        self._client = client
        for offer in OFFERS:
            options = getattr(announced, offer.provider)
            wanted = self._wanted(offer)
            takes = self._takes_registrations(offer)
            if options is None or wanted == offer.kinds or (wanted and not takes):
                continue
            setattr(announced, offer.provider, None)
            if takes:
                self._later[offer.method] = options

    async def update(self) -> None:
        """Register what is on and was not announced, and take back what is off."""
        new, gone = [], []
        for offer in OFFERS:
            if offer.method not in self._later:
                continue
            wanted, given = self._wanted(offer), self._registered.get(offer.method, frozenset())
            if wanted == given:
                continue
            if given:
                gone.append(types.Unregistration(id=_id(offer), method=_registered_as(offer)))
            if wanted:
                new.append(self._registration(offer, wanted))
            self._registered[offer.method] = wanted
        try:
            if gone:
                await self._server.client_unregister_capability_async(
                    types.UnregistrationParams(unregisterations=gone)
                )
            if new:
                await self._server.client_register_capability_async(
                    types.RegistrationParams(registrations=new)
                )
        except Exception as error:
            logger.warning("The editor does not take what is offered: %s", error)

    def _wanted(self, offer: Offer) -> frozenset[Format]:
        from citewell.features.coexist import is_offered

        options = self._server.session.buffers.workspace_options().features
        return frozenset(
            kind
            for kind in offer.kinds
            if any(is_offered(options, switch, kind) for switch in offer.switches)
        )

    def _takes_registrations(self, offer: Offer) -> bool:
        assert self._client is not None
        part = self._client.workspace if offer.client == "symbol" else self._client.text_document
        return bool(getattr(getattr(part, offer.client, None), "dynamic_registration", False))

    def _registration(self, offer: Offer, kinds: frozenset[Format]) -> types.Registration:
        options = self._later[offer.method]
        told: dict[str, Any] = {}
        if not isinstance(options, bool):
            told = self._server.protocol._converter.unstructure(options)
        if offer.method != types.WORKSPACE_SYMBOL:
            names = [name for kind in Format if kind in kinds for name in LANGUAGES[kind]]
            told["documentSelector"] = [{"language": name} for name in names]
        return types.Registration(
            id=_id(offer), method=_registered_as(offer), register_options=told
        )


def _registered_as(offer: Offer) -> str:
    """The three requests of semantic tokens are registered under one name."""
    is_tokens = offer.method == types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL
    return "textDocument/semanticTokens" if is_tokens else offer.method


def _id(offer: Offer) -> str:
    return f"citewell-{offer.provider}"
