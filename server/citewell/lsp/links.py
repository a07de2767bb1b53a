"""textDocument/documentLink and documentLink/resolve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp import wire
from citewell.lsp.places import Places

if TYPE_CHECKING:
    from citewell.features.links import Link
    from citewell.lsp.server import Server

MAX_PLACES = 8


def register(server: Server) -> None:
    """Offer links."""
    session = server.session

    @server.feature(
        types.TEXT_DOCUMENT_DOCUMENT_LINK, types.DocumentLinkOptions(resolve_provider=True)
    )
    async def document_link(params: types.DocumentLinkParams) -> wire.Encoded | None:
        from citewell.features.links import bib_links, document_links

        found = await session.bib(params.text_document.uri)
        if found is not None:
            bib, _ = found
            return await session.read(
                lambda: _links(bib_links(bib), Places(bib.text, session.encoding))
            )
        snapshot = await session.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        project = snapshot.paper.project.with_document(snapshot.path, snapshot.document)
        places = Places(snapshot.document.text, session.encoding)
        return await session.read(lambda: _links(document_links([project], snapshot.path), places))

    @server.feature(types.DOCUMENT_LINK_RESOLVE)
    async def resolve(link: types.DocumentLink) -> types.DocumentLink:
        """Find the file: the first that is there, else the first that may be."""
        places = link.data if isinstance(link.data, list) else []
        files = [Path(p) for p in places[:MAX_PLACES] if isinstance(p, str) and "\x00" not in p]
        if files:
            chosen = await asyncio.to_thread(_first_there, files)
            link.target = from_fs_path(str(chosen))
        return link


def _links(links: Iterable[Link], places: Places) -> wire.Encoded:
    return wire.Encoded(
        [
            wire.DocumentLink(
                places.range(link.span), link.url or None, list(link.files) if link.files else None
            )
            for link in sorted(links, key=lambda link: link.span)
        ]
    )


def _first_there(files: list[Path]) -> Path:
    return next((path for path in files if path.is_file()), files[0])
