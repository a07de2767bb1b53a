"""textDocument/codeLens: how often each entry of a .bib is cited, and where its record is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.documents.snapshot import Locator
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
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

    async def code_lens(params: types.CodeLensParams) -> wire.Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        found = await projects.read(lambda: _lenses(checks, snapshot))
        buffers.refuse_outdated(snapshot)
        return found

    async def show_uses(uri: Any, key: Any) -> wire.Encoded | None:
        """The places that cite a key; an editor that can is shown the next one at each call."""
        snapshot = await projects.workspace(str(uri))
        if snapshot is None:
            return None
        locator = Locator(snapshot)
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
        return wire.Encoded(places)

    return (
        Request(
            types.TEXT_DOCUMENT_CODE_LENS, code_lens, types.CodeLensOptions(resolve_provider=False)
        ),
        Command(SHOW_USES, show_uses),
    )


def _lenses(checks: ReferenceChecks, snapshot: WorkspaceSnapshot) -> wire.Encoded:
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
    places = snapshot.index.wire_ranges([lens.span for lens in found])
    return wire.Encoded(
        [
            wire.CodeLens(place, _command(lens, snapshot.uri))
            for lens, place in zip(found, places, strict=True)
        ]
    )


def _command(lens: Lens, uri: str) -> wire.LspCommand:
    if not lens.key:
        return wire.LspCommand(lens.title, "")
    return wire.LspCommand(lens.title, SHOW_USES, (uri, lens.key))
