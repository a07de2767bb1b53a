"""textDocument/formatting and rangeFormatting of a .bib.

They are registered for .bib files alone where the client can be told so: as a formatter of LaTeX or
Markdown, Citewell would stand in the way of real ones.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.lsp.server import Server

logger = logging.getLogger(__name__)

_SELECTOR: list[types.TextDocumentFilterLanguage | types.TextDocumentFilterPattern] = [
    types.TextDocumentFilterLanguage(language="bibtex"),
    types.TextDocumentFilterLanguage(language="bib"),
    types.TextDocumentFilterPattern(pattern="**/*.bib"),
]


def announce(server: Server) -> None:
    """Offer formatting to a client that cannot be told later. For the handler of `initialize`."""
    if not server.flags.register_formatting:
        _whole(server)


class Formatter:
    """Registers formatting with a client that can be told so later. For the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._has_handlers = False
        self._is_registered = False

    async def update(self) -> None:
        """Register what the settings want, or take it back. The handlers stay."""
        server = self._server
        if not server.flags.register_formatting:
            return
        if not self._has_handlers:
            _whole(server)
            _range(server)
            self._has_handlers = True
        wanted = server.registrations.is_on("formatting", "")
        if wanted is self._is_registered:
            return
        self._is_registered = wanted
        try:
            if wanted:
                await server.client_register_capability_async(
                    types.RegistrationParams(registrations=_registrations())
                )
            else:
                gone = [types.Unregistration(one.id, one.method) for one in _registrations()]
                await server.client_unregister_capability_async(
                    types.UnregistrationParams(unregisterations=gone)
                )
        except Exception as error:
            logger.warning("The editor does not take the offer to format: %s", error)


def _registrations() -> list[types.Registration]:
    options = types.DocumentFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    ranges = types.DocumentRangeFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    return [
        types.Registration("citewell-formatting", types.TEXT_DOCUMENT_FORMATTING, options),
        types.Registration("citewell-range", types.TEXT_DOCUMENT_RANGE_FORMATTING, ranges),
    ]


def _whole(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(server, params.text_document.uri, None)


def _range(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_RANGE_FORMATTING)
    async def formatting(
        params: types.DocumentRangeFormattingParams,
    ) -> list[types.TextEdit] | None:
        return await _edits(server, params.text_document.uri, params.range)


async def _edits(
    server: Server, uri: str, range_: types.Range | None
) -> list[types.TextEdit] | None:
    """The edits of an open .bib; None for any other file."""
    from citewell.features.bib_format import format_bib

    found = await server.session.bib(uri)
    document = server.documents.open_document(uri)
    if found is None or document is None or document.version != found[1]:
        return None
    (bib, version), index = found, document.index
    within = None if range_ is None else index.span(range_)
    edits = await server.session.read(lambda: format_bib(bib, within))
    if document.version != version:  # edits of a text that is gone
        return None
    return [types.TextEdit(index.range(edit.span), edit.text) for edit in edits]
