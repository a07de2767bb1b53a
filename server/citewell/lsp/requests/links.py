"""textDocument/documentLink and documentLink/resolve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.line_index import LineIndex
from citewell.lsp.registration.registry import Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.links import Link

MAX_PLACES = 8


def handlers(editor: Editor, projects: Projects) -> Handlers:
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
