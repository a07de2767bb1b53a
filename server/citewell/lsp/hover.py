"""textDocument/hover: the cited entry, or the papers that a placeholder asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp import citing

if TYPE_CHECKING:
    from citewell.features.hover import HoverCard
    from citewell.lsp.server import Server
    from citewell.lsp.session import Snapshot

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
    from citewell.features.hover import hover_key, hover_placeholder, hovered_placeholder

    placeholder = hovered_placeholder(snapshot.document, offset)
    if placeholder is None:
        return hover_key(snapshot.document, offset, snapshot.paper.find_entry)
    query = await citing.make_query(server.session, snapshot, placeholder)
    result = await server.session.engine.find_async(query, PAPERS, tier="full")
    server.session.tell(result.problems)
    return hover_placeholder(placeholder, result.hits)


def plain(markdown: str) -> str:
    """The same card for a client that shows text as it is."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 (\2)", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
