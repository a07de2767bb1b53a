"""textDocument/documentSymbol of a .bib and workspace/symbol over all entries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.line_index import LineIndex
from citewell.lsp.registration.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.symbols import Symbol
    from citewell.model.bib import BibFile

_KINDS = {
    "article": types.SymbolKind.Interface.value,
    "book": types.SymbolKind.Package.value,
    "paper": types.SymbolKind.Event.value,
    "other": types.SymbolKind.Object.value,
    "macro": types.SymbolKind.Constant.value,
}
MAX_FOUND = 128


def handlers(editor: Editor, buffers: Buffers, projects: Projects) -> Handlers:
    """The outline of a .bib, and entries of the workspace by name."""

    async def document_symbol(params: types.DocumentSymbolParams) -> wire.Encoded | None:
        found = await projects.bib(params.text_document.uri)
        if found is None:
            return None
        bib, _ = found
        nested = editor.flags.nested_symbols
        uri = params.text_document.uri
        return await projects.read(lambda: _outline(bib, editor.encoding, None if nested else uri))

    async def workspace_symbol(params: types.WorkspaceSymbolParams) -> wire.Encoded:
        query = params.query.strip()[:256]
        await editor.configured()
        wanted = buffers.workspace_reading()
        await projects.read_ahead(wanted)
        found = await projects.look_up(lambda cache: cache.find_entries(wanted, query, MAX_FOUND))
        return await projects.read(lambda: _found(editor, buffers, found))

    return (
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
            document_symbol,
            switches=("symbols",),
            formats=BIB_ONLY,
        ),
        Request(
            types.WORKSPACE_SYMBOL,
            workspace_symbol,
            switches=("workspace-symbols",),
            formats=BIB_ONLY,
        ),
    )


def _outline(bib: BibFile, encoding: str, uri: str | None) -> wire.Encoded:
    """The symbols in the order of the file; flat ones of a `uri` for a client that knows no
    others."""
    from citewell.features.navigation.symbols import outline

    found = outline(bib)
    index = LineIndex(bib.text, encoding)
    whole = index.wire_ranges([symbol.span for symbol in found])
    if uri is not None:
        return wire.Encoded(
            [
                wire.SymbolInformation(
                    " · ".join(part for part in (symbol.name, symbol.detail) if part),
                    _KINDS[symbol.kind],
                    wire.Location(uri, place),
                )
                for symbol, place in zip(found, whole, strict=True)
            ]
        )
    names = index.wire_ranges([symbol.name_span for symbol in found])
    return wire.Encoded(
        [
            wire.DocumentSymbol(symbol.name, symbol.detail, _KINDS[symbol.kind], place, name)
            for symbol, place, name in zip(found, whole, names, strict=True)
        ]
    )


def _found(editor: Editor, buffers: Buffers, found: list[tuple[Symbol, str]]) -> wire.Encoded:
    encoding = editor.encoding
    roots = editor.roots
    places: dict[str, LineIndex] = {}
    symbols = []
    for symbol, text in found:
        path = Path(symbol.path)
        at = places.get(symbol.path)
        if at is None:
            at = places[symbol.path] = LineIndex(text, encoding)
        opened = buffers.open_document(path)
        uri = opened.uri if opened is not None else from_fs_path(symbol.path) or ""
        root = next((r for r in roots if path.is_relative_to(r)), None)
        shown = path.relative_to(root).as_posix() if root else path.name
        symbols.append(
            wire.SymbolInformation(
                symbol.name,
                _KINDS[symbol.kind],
                wire.Location(uri, at.wire_range(symbol.name_span)),
                shown,
            )
        )
    return wire.Encoded(symbols)
