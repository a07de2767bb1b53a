"""textDocument/hover: the cited entry, or the papers that a placeholder asks for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp import citing

if TYPE_CHECKING:
    from citewell.features.hover import HoverCard
    from citewell.lsp.server import Server
    from citewell.lsp.session import Snapshot
    from citewell.model.bib import BibEntry
    from citewell.model.document import Span

PAPERS = 3


def register(server: Server) -> None:
    """Offer hovers."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        snapshot = await server.session.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        card = await _card(server, snapshot, snapshot.index.offset(params.position))
        if card is None:
            return None
        markdown = server.flags.markdown_hover
        return types.Hover(
            contents=types.MarkupContent(
                kind=types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText,
                value=card.markdown if markdown else plain(card.markdown),
            ),
            range=snapshot.index.range(card.span),
        )


async def _card(server: Server, snapshot: Snapshot, offset: int) -> HoverCard | None:
    from citewell.features.hover import hover_missing, hover_placeholder, hovered_placeholder
    from citewell.features.site import key_at

    placeholder = hovered_placeholder(snapshot.document, offset)
    if placeholder is not None:
        query = await citing.make_query(server.session, snapshot, placeholder)
        result = await server.session.engine.find_async(query, PAPERS, tier="full")
        server.session.tell(result.problems)
        return hover_placeholder(placeholder, result.hits)
    found = key_at(snapshot.document, offset)
    if found is None:
        return None
    _, use = found
    entry = snapshot.paper.find_entry(use.key)
    if entry is None:
        return hover_missing(use)
    return await _entry_card(server, snapshot, use.span, *entry)


async def _entry_card(
    server: Server, snapshot: Snapshot, span: Span, path: str, entry: BibEntry
) -> HoverCard:
    from citewell.features.card import Known
    from citewell.features.hover import hover_entry

    session, options = server.session, snapshot.options.hover
    bib = snapshot.paper.project.bibs.get(Path(path))
    # Asked at once: the library answers while the reference is rendered.
    record = asyncio.ensure_future(session.cards.record(session.engine, entry))
    reference = ""
    if bib is not None:
        folders = session.folders_of(snapshot)
        reference = await session.cards.reference(bib, entry, options.style, folders)
    known = Known(
        reference=reference,
        record=await record,
        uses=session.cited_at(snapshot, entry.key),
        abstract=options.abstract,
    )
    return hover_entry(span, entry, path, str(snapshot.path), known)


def plain(markdown: str) -> str:
    """The same card for a client that shows text as it is."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 (\2)", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
