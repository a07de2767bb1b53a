"""textDocument/foldingRange, documentLink and documentSymbol, and workspace/symbol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.links import Link
    from citewell.features.symbols import Symbol
    from citewell.model.bib import BibFile


def folding_handlers(editor: Editor, projects: Projects) -> Handlers:
    """The folds of a .bib."""

    async def folding_range(params: types.FoldingRangeParams) -> wire.Encoded | None:
        found = await projects.bib(params.text_document.uri)
        if found is None:
            return None
        bib, _ = found
        limit = editor.flags.folding_limit
        return await projects.read(lambda: _folds(bib, limit))

    return (
        Request(
            types.TEXT_DOCUMENT_FOLDING_RANGE,
            folding_range,
            switches=("folding",),
            formats=BIB_ONLY,
        ),
    )


def _folds(bib: BibFile, limit: int) -> wire.Encoded:
    """Folds of whole lines, the last line with them; entries first where there is a limit."""
    from citewell.features.navigation.folding import folds

    found = list(folds(bib))
    places = LineIndex(bib.text, "utf-32").places([fold.span for fold in found])
    lines = (
        (first, last, fold.is_comment)
        for fold, (first, _, last, _) in zip(found, places, strict=True)
        if last > first
    )
    return wire.Encoded(
        [
            wire.FoldingRange(first, last, "comment" if is_comment else None)
            for first, last, is_comment in sorted(islice(lines, limit or None))
        ]
    )


# textDocument/documentLink and documentLink/resolve.

MAX_PLACES = 8


def link_handlers(editor: Editor, projects: Projects) -> Handlers:
    """The links of a document, and the file behind one."""

    async def document_link(params: types.DocumentLinkParams) -> wire.Encoded | None:
        from citewell.features.navigation.links import bib_links, document_links

        found = await projects.bib(params.text_document.uri)
        if found is not None:
            bib, _ = found
            return await projects.read(lambda: _links(bib_links(bib), bib.text, editor.encoding))
        snapshot = await projects.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        project = snapshot.state.project.with_document(snapshot.path, snapshot.document)
        text = snapshot.document.text
        return await projects.read(
            lambda: _links(document_links([project], snapshot.path), text, editor.encoding)
        )

    async def resolve(link: types.DocumentLink) -> types.DocumentLink:
        """Set the target to the first candidate file that exists, else to the first candidate."""
        places = link.data if isinstance(link.data, list) else []
        files = [Path(p) for p in places[:MAX_PLACES] if isinstance(p, str) and "\x00" not in p]
        if files:
            chosen = await asyncio.to_thread(_first_there, files)
            link.target = from_fs_path(str(chosen))
        return link

    return (
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_LINK,
            document_link,
            types.DocumentLinkOptions(resolve_provider=True),
            switches=("links",),
        ),
        Request(types.DOCUMENT_LINK_RESOLVE, resolve),
    )


def _links(links: Iterable[Link], text: str, encoding: str) -> wire.Encoded:
    found = sorted(links, key=lambda link: link.span)
    ranges = LineIndex(text, encoding).wire_ranges([link.span for link in found])
    return wire.Encoded(
        [
            wire.DocumentLink(place, link.url or None, link.files or None)
            for link, place in zip(found, ranges, strict=True)
        ]
    )


def _first_there(files: list[Path]) -> Path:
    return next((path for path in files if path.is_file()), files[0])


# textDocument/documentSymbol of a .bib and workspace/symbol over all entries.

_KINDS = {
    "article": types.SymbolKind.Interface.value,
    "book": types.SymbolKind.Package.value,
    "paper": types.SymbolKind.Event.value,
    "other": types.SymbolKind.Object.value,
    "macro": types.SymbolKind.Constant.value,
}
MAX_FOUND = 128


def symbol_handlers(editor: Editor, buffers: Buffers, projects: Projects) -> Handlers:
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
    from citewell.features.symbols import outline

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
