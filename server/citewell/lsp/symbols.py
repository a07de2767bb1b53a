"""textDocument/documentSymbol of a .bib and workspace/symbol over all entries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp import wire
from citewell.lsp.places import Places

if TYPE_CHECKING:
    from citewell.features.symbols import Symbol
    from citewell.lsp.server import Server
    from citewell.model.bib import BibFile

_KINDS = {
    "article": types.SymbolKind.Interface,
    "book": types.SymbolKind.Package,
    "paper": types.SymbolKind.Event,
    "other": types.SymbolKind.Object,
    "macro": types.SymbolKind.Constant,
}
MAX_FOUND = 128


def register(server: Server) -> None:
    """Offer symbols."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(params: types.DocumentSymbolParams) -> wire.Encoded | None:
        found = await session.bib(params.text_document.uri)
        if found is None:
            return None
        bib, _ = found
        nested = server.flags.nested_symbols
        uri = params.text_document.uri
        return await session.read(lambda: _outline(bib, session.encoding, None if nested else uri))

    @server.feature(types.WORKSPACE_SYMBOL)
    async def workspace_symbol(params: types.WorkspaceSymbolParams) -> wire.Encoded:
        query = params.query.strip()[:256]
        found = await session.find_entries(query, MAX_FOUND)
        return await session.read(lambda: _found(server, found))


def _outline(bib: BibFile, encoding: str, uri: str | None) -> wire.Encoded:
    from citewell.features.symbols import bib_symbols

    places, names = Places(bib.text, encoding), Places(bib.text, encoding)
    symbols = sorted(bib_symbols(bib), key=lambda symbol: symbol.span)
    if uri is not None:
        return wire.Encoded(
            [
                wire.SymbolInformation(
                    " · ".join(part for part in (s.name, s.detail) if part),
                    _KINDS[s.kind],
                    wire.Location(uri, places.range(s.span)),
                )
                for s in symbols
            ]
        )
    return wire.Encoded(
        [
            wire.DocumentSymbol(
                s.name,
                s.detail,
                _KINDS[s.kind],
                places.range(s.span),
                names.range(s.name_span),
            )
            for s in symbols
        ]
    )


def _found(server: Server, found: list[tuple[Symbol, str]]) -> wire.Encoded:
    encoding = server.session.encoding
    roots = server.roots
    places: dict[str, Places] = {}
    symbols = []
    for symbol, text in found:
        path = Path(symbol.path)
        at = places.setdefault(symbol.path, Places(text, encoding))
        opened = server.session.open_document(path)
        uri = opened.uri if opened is not None else from_fs_path(symbol.path) or ""
        root = next((r for r in roots if path.is_relative_to(r)), None)
        shown = path.relative_to(root).as_posix() if root else path.name
        symbols.append(
            wire.SymbolInformation(
                symbol.name,
                _KINDS[symbol.kind],
                wire.Location(uri, at.range(symbol.name_span)),
                shown,
            )
        )
    return wire.Encoded(symbols)
