"""textDocument/formatting and rangeFormatting of a .bib.

They are registered for .bib files alone where the client can be told so: as a formatter of LaTeX or
Markdown, Citewell would stand in the way of real ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.lsp.server import Server

_SELECTOR: list[types.TextDocumentFilterLanguage | types.TextDocumentFilterPattern] = [
    types.TextDocumentFilterLanguage(language="bibtex"),
    types.TextDocumentFilterLanguage(language="bib"),
    types.TextDocumentFilterPattern(pattern="**/*.bib"),
]


def announce(server: Server) -> None:
    """Offer formatting to a client that cannot be told later. For the handler of `initialize`."""
    if not server.flags.register_formatting:
        _whole(server)


def registrations(server: Server) -> list[types.Registration]:
    """What is told later to a client that takes it; the handlers are there from then on."""
    if not server.flags.register_formatting:
        return []
    _whole(server)
    _range(server)
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
