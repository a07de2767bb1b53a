"""textDocument/hover: the cited entry, or the papers that a placeholder asks for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp import citing

if TYPE_CHECKING:
    from citewell.documents.key_table import KeyPlace
    from citewell.features.hover import HoverCard
    from citewell.lsp.server import Server
    from citewell.lsp.snapshot import Scope, Snapshot
    from citewell.model.bib import BibEntry
    from citewell.model.document import KeyUse, Span

PAPERS = 3


def register(server: Server) -> None:
    """Offer hovers."""

    session = server.session

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        snapshot = await session.snapshot(uri)
        if snapshot is not None:
            index, card = snapshot.index, await _in_document(server, snapshot, params.position)
        else:
            scope = await session.scope(uri)
            if scope is None:
                return None
            index, card = scope.index, await _in_bib(server, scope, params.position)
        if card is None:
            return None
        markdown = server.flags.markdown_hover
        return types.Hover(
            contents=types.MarkupContent(
                kind=types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText,
                value=card.markdown if markdown else plain(card.markdown),
            ),
            range=index.range(card.span),
        )


async def _in_document(
    server: Server, snapshot: Snapshot, position: types.Position
) -> HoverCard | None:
    from citewell.features.hover import hover_missing, hover_placeholder, hovered_placeholder
    from citewell.features.site import key_at

    offset = snapshot.index.offset(position)
    placeholder = hovered_placeholder(snapshot.document, offset)
    if placeholder is not None:
        if not server.registrations.is_on("hover_placeholders", snapshot.uri):
            return None
        query = await citing.make_query(server.session, snapshot, placeholder)
        result = await server.session.engine.find_async(query, PAPERS, tier="full")
        server.session.tell(result.problems)
        return hover_placeholder(placeholder, result.hits)
    found = key_at(snapshot.document, offset)
    if found is None or not server.registrations.is_on("hover_keys", snapshot.uri):
        return None
    _, use = found
    scope = await server.session.scope(snapshot.uri)
    place = scope.keys.definition(use.key) if scope is not None else None
    if scope is None or place is None or place.entry is None:
        shelved = await _shelved_card(server, snapshot, use)
        return shelved or hover_missing(use)
    return await _entry_card(server, scope, use.span, place.path, place.entry)


async def _shelved_card(server: Server, snapshot: Snapshot, use: KeyUse) -> HoverCard | None:
    """The card of a key that no .bib of the paper has, but the author's Zotero."""
    from citewell.features.card import Known
    from citewell.features.hover import hover_shelved

    session = server.session
    session.zotero.wake(use.key)
    zotero_library, entry = session.zotero.zotero_library, session.zotero.entry(use.key)
    if zotero_library is None or entry is None:
        return None
    options = snapshot.options.hover
    folders = (snapshot.path.parent, *server.roots)
    reference = await session.cards.reference(zotero_library.bib, entry, options.style, folders)
    return hover_shelved(use.span, entry, Known(reference=reference, abstract=options.abstract))


async def _in_bib(server: Server, scope: Scope, position: types.Position) -> HoverCard | None:
    """Over an entry's head its own card; over a key in a field that of the entry it names."""
    from citewell.documents.key_table import BibKeys

    if not server.registrations.is_on("hover_keys", scope.uri):
        return None
    offset = scope.index.offset(position)
    place = scope.keys.at(scope.path, offset)
    if place is not None:
        target = scope.keys.definition(place.key)
        if target is not None and target.entry is not None:
            return await _entry_card(server, scope, place.span, target.path, target.entry)
    keys = scope.keys.files.get(scope.path)
    entry = keys.entry_at(offset) if isinstance(keys, BibKeys) else None
    if entry is None or offset > entry.key_span.end:
        return None
    return await _entry_card(server, scope, entry.key_span, scope.path, entry)


async def _entry_card(
    server: Server, scope: Scope, span: Span, path: Path, entry: BibEntry
) -> HoverCard:
    from citewell.documents.key_table import BibKeys, PlaceKind
    from citewell.features.card import MAX_PLACES, Known
    from citewell.features.hover import hover_entry

    session, options, table = server.session, scope.options.hover, scope.circle.all_keys
    keys = table.files.get(path)
    bib = keys.source if isinstance(keys, BibKeys) else scope.circle.bib
    # Asked at once: the library answers while the reference is rendered.
    record = asyncio.ensure_future(session.cards.record(session.engine, entry))
    reference, check = "", None
    if bib is not None:
        folders = _folders(server, scope)
        reference = await session.cards.reference(bib, entry, options.style, folders)
        check = server.diagnostics.checking.answers.check_of(bib)(entry)
    uses = [place for place in table.uses(entry.key) if place.kind is not PlaceKind.LINK]
    known = Known(
        reference=reference,
        record=await record,
        check=check,
        cited=len(uses),
        uses=tuple(_shown(scope, place) for place in uses[:MAX_PLACES]),
        abstract=options.abstract,
    )
    return hover_entry(span, entry, str(path), str(scope.path), known)


def _folders(server: Server, scope: Scope) -> tuple[Path, ...]:
    """Where a file that the settings name for a document may lie."""
    own = (scope.path.parent, *(project.root.parent for project in scope.circle.projects))
    return tuple(dict.fromkeys((*own, *server.roots)))


def _shown(scope: Scope, place: KeyPlace) -> str:
    """ "main.tex:12"."""
    from citewell.features.hover import shown_path

    text = scope.circle.all_keys.files[place.path].source.text
    line = text.count("\n", 0, place.span.start) + 1
    return f"{shown_path(str(place.path), str(scope.path))}:{line}"


def plain(markdown: str) -> str:
    """The same card for a client that shows text as it is."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 (\2)", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
