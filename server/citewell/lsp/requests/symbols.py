"""textDocument/documentSymbol of a .bib and workspace/symbol over all entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.positions import BodyPlaces, Inside, Positions, placed
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.symbols import Symbol
    from citewell.model.bib import BibEntry, BibFile

_KINDS = {
    "article": types.SymbolKind.Interface.value,
    "book": types.SymbolKind.Package.value,
    "paper": types.SymbolKind.Event.value,
    "other": types.SymbolKind.Object.value,
    "macro": types.SymbolKind.Constant.value,
}
MAX_FOUND = 128
_NESTED = (
    b'%b,"range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},'
    b'"selectionRange":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}}'
)
_AT_LINE_START = (
    b'%b,"range":{"start":{"line":%%d,"character":0},"end":{"line":%%d,"character":%d}},'
    b'"selectionRange":{"start":{"line":%%d,"character":%d},"end":{"line":%%d,"character":%d}}}'
)
_FLAT = b'%b,"location":{"uri":%b,"range":%b}}'
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
            switches=("workspace-symbols",),
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

    def template(self) -> bytes | None:
        """The symbol of an entry that begins its line, as JSON without the four numbers of lines;
        None where the key is not in that line."""
        head, (*_, end), (_, start, row, stop) = self
        if row:
            return None
        return _AT_LINE_START % (head.replace(b"%", b"%%"), end, start, stop)


def _outline(bib: BibFile, encoding: str, uri: str | None) -> wire.Encoded:
    """The symbols in the order of the file; flat ones of a `uri` for a client that knows no
    others."""
    entries = _flat(bib, encoding, uri) if uri is not None else _nested(bib, encoding)
    if any(block.type == "string" for block in bib.blocks):
        starts = (entry.start for entry in bib.entries)
        both = (_macros(bib, encoding, uri), zip(starts, entries, strict=True))
        entries = (piece for _, piece in merge(*both, key=itemgetter(0)))
    return wire.Encoded.array(entries)


def _nested(bib: BibFile, encoding: str) -> Iterator[bytes]:
    """The symbols of the entries, with a range for the name."""
    note, fixed_note = f"outline-{encoding}", f"outline-{encoding}-fixed"
    outlined = _outliner(encoding, flat=False)
    for entry, line, column in placed(bib, encoding):
        notes = entry.body.notes
        fixed: tuple[bytes, int] | None = None if column else notes.get(fixed_note)
        if fixed is None:
            known: _Outlined | None = notes.get(note)
            if known is None:
                known = outlined(entry)
                template = None if column else known.template()
                if template is None:
                    notes[note] = known
                else:
                    notes[fixed_note] = template, known.whole.last_row
            yield known.nested(line, column)
        else:
            template, last = fixed
            yield template % (line, line + last, line, line)


def _flat(bib: BibFile, encoding: str, uri: str) -> Iterator[bytes]:
    """The symbols of the entries, for a client that knows no others."""
    note, address = f"outline-{encoding}-flat", _ENCODER.encode(uri)
    outlined = _outliner(encoding, flat=True)
    for entry, line, column in placed(bib, encoding):
        notes = entry.body.notes
        known: _Outlined | None = notes.get(note)
        if known is None:
            known = notes[note] = outlined(entry)
        place = wire.range_json(*known.whole.at(line, column))
        yield _FLAT % (known.head, address, place)


def _macros(bib: BibFile, encoding: str, uri: str | None) -> Iterator[tuple[int, bytes]]:
    """The symbols of the macros, each with its offset in the file."""
    from citewell.features.navigation.symbols import macro_symbols

    places, names = Positions(bib.text, encoding), Positions(bib.text, encoding)
    for macro in macro_symbols(bib):
        head = _head(macro.name, macro.detail, macro.kind, flat=uri is not None)
        place = wire.range_json(*places.numbers(macro.span))
        if uri is None:
            name = wire.range_json(*names.numbers(macro.name_span))
            yield macro.span.start, b'%b,"range":%b,"selectionRange":%b}' % (head, place, name)
        else:
            yield macro.span.start, _FLAT % (head, _ENCODER.encode(uri), place)


def _outliner(encoding: str, *, flat: bool) -> Callable[[BibEntry], _Outlined]:
    """What makes the symbol of an entry."""
    from citewell.features.navigation.symbols import byline, entry_kind, entry_title

    def outlined(entry: BibEntry) -> _Outlined:
        body = entry.body
        places = BodyPlaces(body, encoding)
        whole = name = places.inside(0, body.length)
        if not flat:
            at = body.key_at if entry.key else 0
            name = places.inside(at, at + (len(entry.key) or 1))
        head = _head(entry_title(entry), byline(body), entry_kind(entry), flat=flat)
        return _Outlined(head, whole, name)

    return outlined


def _head(name: str, detail: str, kind: str, *, flat: bool) -> bytes:
    """A symbol as JSON up to its first range."""
    if flat:
        shown = " · ".join(part for part in (name, detail) if part)
        return b'{"name":%b,"kind":%d' % (_ENCODER.encode(shown), _KINDS[kind])
    encode = _ENCODER.encode
    return b'{"name":%b,"detail":%b,"kind":%d' % (encode(name), encode(detail), _KINDS[kind])


def _found(editor: Editor, buffers: Buffers, found: list[tuple[Symbol, str]]) -> wire.Encoded:
    encoding = editor.encoding
    roots = editor.roots
    places: dict[str, Positions] = {}
    symbols = []
    for symbol, text in found:
        path = Path(symbol.path)
        at = places.setdefault(symbol.path, Positions(text, encoding))
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
