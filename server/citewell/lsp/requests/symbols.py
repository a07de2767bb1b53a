"""textDocument/documentSymbol of a .bib and workspace/symbol over all entries."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.entry_positions import BodyPlaces, Inside, placed
from citewell.lsp.documents.positions import Places
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.symbols import Symbol
    from citewell.model.bib import BibEntry, BibFile

_KINDS = {
    "article": types.SymbolKind.Interface,
    "book": types.SymbolKind.Package,
    "paper": types.SymbolKind.Event,
    "other": types.SymbolKind.Object,
    "macro": types.SymbolKind.Constant,
}
MAX_FOUND = 128
_NESTED = (
    b'%b,"range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},'
    b'"selectionRange":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}}'
)
_ENCODER = msgspec.json.Encoder()


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
            switches=("workspace_symbols",),
            formats=BIB_ONLY,
        ),
    )


class _Outlined(NamedTuple):
    """What of an entry's symbol stays the same wherever the entry stands."""

    head: bytes
    whole: Inside
    name: Inside

    def nested(self, line: int, column: int) -> bytes:
        """The symbol as JSON if the `@` of the entry is at this position. Written out, since a
        large file has tens of thousands of them."""
        head, (_, _, last, end), (row, start, last_row, stop) = self
        return _NESTED % (
            head, line, column, line + last, end if last else column + end,
            line + row, start if row else column + start,
            line + last_row, stop if last_row else column + stop,
        )  # fmt: skip


def _outline(bib: BibFile, encoding: str, uri: str | None) -> wire.Encoded:
    """The symbols in the order of the file; flat ones of a `uri` for a client that knows no
    others."""
    from citewell.features.navigation.symbols import macro_symbols

    note = f"outline-{encoding}-{uri is None}"
    entries: list[bytes] = []
    for entry, line, column in placed(bib, encoding):
        notes = entry.body.notes
        known: _Outlined | None = notes.get(note)
        if known is None:
            known = notes[note] = _outlined(entry, encoding, uri)
        if uri is None:
            entries.append(known.nested(line, column))
        else:
            place = wire.range_json(*known.whole.at(line, column))
            entries.append(_symbol(known.head, place, b"", uri))
    macros: list[tuple[int, bytes]] = []
    places, names = Places(bib.text, encoding), Places(bib.text, encoding)
    for macro in macro_symbols(bib):
        place = wire.range_json(*places.numbers(macro.span))
        name = wire.range_json(*names.numbers(macro.name_span))
        macros.append((macro.span.start, _symbol(_head(macro, uri), place, name, uri)))
    if macros:
        starts = (entry.start for entry in bib.entries)
        both = sorted([*macros, *zip(starts, entries, strict=True)], key=itemgetter(0))
        entries = [piece for _, piece in both]
    return wire.Encoded(msgspec.Raw(b"[%b]" % b",".join(entries)))


def _outlined(entry: BibEntry, encoding: str, uri: str | None) -> _Outlined:
    from citewell.features.navigation.symbols import entry_symbol

    symbol, start, places = entry_symbol(entry), entry.start, BodyPlaces(entry.body, encoding)
    whole = places.inside(0, entry.body.length)
    place = symbol.name_span
    name = places.inside(place.start - start, place.end - start) if uri is None else whole
    return _Outlined(_head(symbol, uri), whole, name)


def _head(symbol: Symbol, uri: str | None) -> bytes:
    """A symbol as JSON up to its first range."""
    kind = _KINDS[symbol.kind].value
    if uri is None:
        name, detail = _ENCODER.encode(symbol.name), _ENCODER.encode(symbol.detail)
        return b'{"name":%b,"detail":%b,"kind":%d' % (name, detail, kind)
    shown = " · ".join(part for part in (symbol.name, symbol.detail) if part)
    return b'{"name":%b,"kind":%d' % (_ENCODER.encode(shown), kind)


def _symbol(head: bytes, place: bytes, name: bytes, uri: str | None) -> bytes:
    if uri is None:
        return b'%b,"range":%b,"selectionRange":%b}' % (head, place, name)
    return b'%b,"location":{"uri":%b,"range":%b}}' % (head, msgspec.json.encode(uri), place)


def _found(editor: Editor, buffers: Buffers, found: list[tuple[Symbol, str]]) -> wire.Encoded:
    encoding = editor.encoding
    roots = editor.roots
    places: dict[str, Places] = {}
    symbols = []
    for symbol, text in found:
        path = Path(symbol.path)
        at = places.setdefault(symbol.path, Places(text, encoding))
        opened = buffers.open_document(path)
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
