"""textDocument/documentLink and documentLink/resolve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.positions import BodyPlaces, Inside, Positions, placed
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.links import Link
    from citewell.model.bib import BibEntry, BibFile

MAX_PLACES = 8
_ENCODER = msgspec.json.Encoder()


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """The links of a document, and the file behind one."""

    async def document_link(params: types.DocumentLinkParams) -> wire.Encoded | None:
        from citewell.features.navigation.links import document_links

        found = await projects.bib(params.text_document.uri)
        if found is not None:
            bib, _ = found
            return await projects.read(lambda: _bib_links(bib, editor.encoding))
        snapshot = await projects.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        project = snapshot.state.project.with_document(snapshot.path, snapshot.document)
        places = Positions(snapshot.document.text, editor.encoding)
        return await projects.read(lambda: _links(document_links([project], snapshot.path), places))

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


def _links(links: Iterable[Link], places: Positions) -> wire.Encoded:
    return wire.Encoded(
        [
            wire.DocumentLink(
                places.range(link.span), link.url or None, list(link.files) if link.files else None
            )
            for link in sorted(links, key=lambda link: link.span)
        ]
    )


_Fixed = tuple[int, int, bytes]
"""Of a link below the first line of its entry, where no character moves when the entry does: its
first and last line, from that of the entry, and its JSON without the numbers of both."""
_Placed = tuple[Inside, bytes]
"""The range of any other link within its entry, and its JSON after the range."""
_FIXED = b'{"range":{"start":{"line":%%d,"character":%d},"end":{"line":%%d,"character":%d}}%b'


def _bib_links(bib: BibFile, encoding: str) -> wire.Encoded:
    """The links of all entries. Those of an entry are found once, and cached with lines counted
    from its start."""
    return wire.Encoded.array(_each_link(bib, encoding))


def _each_link(bib: BibFile, encoding: str) -> Iterator[bytes]:
    folder = Path(bib.path).parent
    note = f"links-{encoding}"
    for entry, line, column in placed(bib, encoding):
        notes = entry.body.notes
        known: tuple[Path, tuple[_Placed, ...], tuple[_Fixed, ...]] | None = notes.get(note)
        if known is None or (known[0] is not folder and known[0] != folder):
            known = notes[note] = (folder, *_entry_links(entry, folder, encoding))
        for inside, tail in known[1]:
            yield b'{"range":%b%b' % (wire.range_json(*inside.at(line, column)), tail)
        for row, last, template in known[2]:
            yield template % (line + row, line + last)


def _entry_links(
    entry: BibEntry, folder: Path, encoding: str
) -> tuple[tuple[_Placed, ...], tuple[_Fixed, ...]]:
    """Those that begin in the first line of the entry, then the others."""
    from citewell.features.navigation.links import entry_links

    places, start = BodyPlaces(entry.body, encoding), entry.start
    placed_links: list[_Placed] = []
    fixed: list[_Fixed] = []
    for link in sorted(entry_links(entry, folder), key=lambda link: link.span):
        rest: dict[str, object] = {}
        if link.url:
            rest["target"] = link.url
        if link.files:
            rest["data"] = link.files
        tail = _ENCODER.encode(rest).replace(b"{", b",", 1) if rest else b"}"
        inside = places.inside(link.span.start - start, link.span.end - start)
        if inside.row:
            template = _FIXED % (inside.column, inside.last_column, tail.replace(b"%", b"%%"))
            fixed.append((inside.row, inside.last_row, template))
        else:
            placed_links.append((inside, tail))
    return tuple(placed_links), tuple(fixed)


def _first_there(files: list[Path]) -> Path:
    return next((path for path in files if path.is_file()), files[0])
