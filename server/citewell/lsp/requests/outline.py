"""textDocument/foldingRange, documentLink and documentSymbol, and workspace/symbol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.registry import BIB_ONLY, Handlers, Request
from citewell.model.bib import BibEntry, BibField, BibFile
from citewell.model.document import Span
from citewell.model.fields import database_address, with_trait
from citewell.model.identifiers import arxiv_id, normalise_doi

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.lsp.documents.project_state import Symbol


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
    """Folds of whole lines, including the last line; entries first if the number is limited."""

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
        """Set the target to the first existing candidate file, else to the first candidate."""
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
    """The symbols in the order of the file; flat ones with a `uri` for a client without nested
    symbols."""
    from citewell.lsp.documents.project_state import outline

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


# Foldable ranges of a .bib: entries, long fields, comments.

_LINE_END = re.compile(r"\r\n|\r|\n")


class Fold(msgspec.Struct, frozen=True):
    """A range that can be folded if it has more than one line."""

    span: Span
    is_comment: bool = False


def folds(bib: BibFile) -> Iterator[Fold]:
    """The foldable ranges, entries first, including ranges within one line."""
    yield from (Fold(entry.span) for entry in bib.entries)
    yield from (Fold(block.span, block.type == "comment") for block in bib.blocks)
    for entry in bib.entries:
        start, marks = entry.start, entry.body.marks
        for at in range(0, len(marks), 4):
            yield Fold(Span(start + marks[at], start + marks[at + 3]))
    yield from _comments(bib)


def _comments(bib: BibFile) -> Iterator[Fold]:
    """Text between entries and blocks, in order, which a .bib treats as comments."""
    text = bib.text
    pieces = [(entry.start, entry.end) for entry in bib.entries]
    if bib.blocks:
        pieces = sorted([*pieces, *((block.start, block.span.end) for block in bib.blocks)])
    at = 0
    for start, end in (*pieces, (len(text), len(text))):
        if start - at > 2:
            yield from _paragraphs(text, at, start)
        at = max(at, end)


def _paragraphs(text: str, at: int, end: int) -> Iterator[Fold]:
    """Runs of at least two lines without an empty one."""
    first, last, count = at, at, 0
    while at < end:
        found = _LINE_END.search(text, at, end)
        stop = found.start() if found is not None else end
        if text[at:stop].strip():
            first = first if count else at
            last, count = stop, count + 1
        if count > 1 and (not text[at:stop].strip() or found is None or found.end() >= end):
            yield Fold(Span(first, last), is_comment=True)
        if not text[at:stop].strip():
            count = 0
        at = found.end() if found is not None else end


# Links of a .bib or a document: DOIs, addresses, preprints, attached and named files.

_ADDRESS = re.compile(r"https?://[^\s{}\"<>|\\^`]+(?:\\[_%&#~][^\s{}\"<>|\\^`]*)*")
_UNESCAPE = re.compile(r"\\([_%&#~])")
_LINKED = with_trait("link")
_PIECE = re.compile(r"(?:\\.|[^;\\])+")
_PART = re.compile(r"((?:\\.|[^:\\])*)(?::|$)")
_ESCAPED = re.compile(r"\\([:;\\_{}&%#])")
_DRIVE = re.compile(r"[A-Za-z]")


class Link(msgspec.Struct, frozen=True):
    """A range that links to an address, or to the first existing file of some."""

    span: Span
    url: str = ""
    files: tuple[str, ...] = ()


def bib_links(bib: BibFile) -> Iterator[Link]:
    """The links of the entries of a .bib."""
    folder = Path(bib.path).parent
    for entry in bib.entries:
        for field in entry.fields_of(_LINKED):
            yield from _of_field(entry, field, folder)


def document_links(projects: Iterable[Project], path: Path) -> Iterator[Link]:
    """The files that a document names: bibliographies and included sources."""
    seen: set[Span] = set()
    for project in projects:
        for span, target in project.named_files(path):
            if span not in seen:
                seen.add(span)
                yield Link(span, files=(str(target),))


def _of_field(entry: BibEntry, field: BibField, folder: Path) -> Iterator[Link]:
    inner = _inner(field)
    link = _LINKED[field.name].link
    if link == "doi":
        if doi := normalise_doi(field.value):
            yield Link(inner, f"https://doi.org/{doi}")
    elif link == "arxiv":
        kind = (entry.get("archiveprefix") or entry.get("eprinttype")).lower()
        if kind in ("", "arxiv") and (number := arxiv_id(field.value)):
            yield Link(inner, f"https://arxiv.org/abs/{number}")
        elif address := database_address(field.name, {field.name: field.value, "eprinttype": kind}):
            yield Link(inner, address)
    elif link == "database":
        if address := database_address(field.name, {field.name: field.value}):
            yield Link(inner, address)
    elif link == "file" and "://" not in field.raw:
        yield from _attached(field, inner, folder)
    else:
        for found in _ADDRESS.finditer(field.raw):
            address = found[0].rstrip(".,;")
            start = field.value_span.start + found.start()
            yield Link(Span(start, start + len(address)), _UNESCAPE.sub(r"\1", address))


def _inner(field: BibField) -> Span:
    """The value without its delimiters."""
    raw = field.raw
    wrapped = len(raw) > 1 and raw[0] in '{"' and raw[-1] in '}"'
    span = field.value_span
    return Span(span.start + 1, span.end - 1) if wrapped else span


def _attached(field: BibField, inner: Span, folder: Path) -> Iterator[Link]:
    """The files in `path`, `description:path:type`, or several of them separated by `;`, as written
    by reference managers."""
    offset = inner.start - field.value_span.start
    text = field.raw[offset : offset + inner.end - inner.start]
    for piece in _PIECE.finditer(text):
        path = _attached_path(piece[0].strip())
        if path:
            start = inner.start + piece.start() + len(piece[0]) - len(piece[0].lstrip())
            span = Span(start, start + len(piece[0].strip()))
            yield Link(span, files=tuple(_places(path, folder)))


def _attached_path(piece: str) -> str:
    parts = [found[1] for found in _PART.finditer(piece) if found[0]]
    parts = [_ESCAPED.sub(r"\1", part) for part in parts]
    if len(parts) == 1:
        return parts[0]
    if len(parts) >= 3:
        # Some programs escape a drive's colon, others do not.
        middle = parts[1:-1]
        return ":".join(middle) if len(middle) == 2 and _DRIVE.fullmatch(middle[0]) else middle[0]
    return ":".join(parts) if _DRIVE.fullmatch(parts[0]) else parts[1]


def _places(path: str, folder: Path) -> Iterator[str]:
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        yield path
        return
    yield str(folder / path)
    # Some write the path from the root of the disk, or from home, without its slash.
    yield "/" + path
    yield str(Path.home() / path)
