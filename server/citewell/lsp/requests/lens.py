"""textDocument/codeLens: how often each entry of a .bib is cited, and where its record is from."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.positions import Locator
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import Encoded, range_json
from citewell.lsp.registration.registry import Command, Handlers, Request
from citewell.lsp.state.checking import ReferenceChecks

if TYPE_CHECKING:
    from citewell.features.display.lens import Lens
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot

SHOW_USES = "citewell.showUses"


def handlers(
    editor: Editor, buffers: Buffers, projects: Projects, checks: ReferenceChecks
) -> Handlers:
    """The lenses of a .bib, and the command that leads to the places that cite an entry."""
    visited: dict[str, int] = {}

    async def code_lens(params: types.CodeLensParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        found = await projects.read(lambda: _lenses(checks, snapshot))
        buffers.refuse_outdated(snapshot)
        return found

    async def show_uses(uri: Any, key: Any) -> Encoded | None:
        """The places that cite a key; an editor that can is shown the next one at each call."""
        snapshot = await projects.workspace(str(uri))
        if snapshot is None:
            return None
        locator = Locator(snapshot, editor.encoding)
        places = [
            locator.location(place.path, place.span)
            for place in snapshot.linked.all_keys.uses(str(key))
        ]
        if places and editor.flags.show_document:
            visited[str(key)] = number = visited.get(str(key), -1) + 1
            place = places[number % len(places)]
            start, end = place.range.start, place.range.end
            selection = types.Range(
                types.Position(start.line, start.character),
                types.Position(end.line, end.character),
            )
            await editor.show_document(place.uri, selection)
        return Encoded(places)

    return (
        Request(
            types.TEXT_DOCUMENT_CODE_LENS, code_lens, types.CodeLensOptions(resolve_provider=False)
        ),
        Command(SHOW_USES, show_uses),
    )


def _lenses(checks: ReferenceChecks, snapshot: WorkspaceSnapshot) -> Encoded:
    from citewell.features.display.lens import entry_lenses

    options, bib = snapshot.options.lens, snapshot.linked.bib
    assert bib is not None
    table = snapshot.linked.all_keys
    found = entry_lenses(
        bib,
        table.count,
        checks.answers.source_of(bib) if options.source else None,
        citations=options.citations,
    )
    uri = msgspec.json.encode(snapshot.uri)
    encode = lru_cache(msgspec.json.encode)  # the few different titles come again and again
    places = snapshot.index.places_of_all([lens.span for lens in found])
    return Encoded.array(
        _lens(lens, range_json(*place), uri, encode(lens.title))
        for lens, place in zip(found, places, strict=True)
    )


def _lens(lens: Lens, place: bytes, uri: bytes, title: bytes) -> bytes:
    """A lens as JSON: of a large file there are tens of thousands."""
    if not lens.key:
        return b'{"range":%b,"command":{"title":%b,"command":""}}' % (place, title)
    key = msgspec.json.encode(lens.key)
    return b'{"range":%b,"command":{"title":%b,"command":"%b","arguments":[%b,%b]}}' % (
        place,
        title,
        SHOW_USES.encode(),
        uri,
        key,
    )
