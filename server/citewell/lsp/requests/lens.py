"""textDocument/codeLens: how often each entry of a .bib is cited, and where its record is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.positions import Locator
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import Encoded
from citewell.lsp.registration.registry import Command, Handlers, Request
from citewell.lsp.state.checking import Checking

if TYPE_CHECKING:
    from citewell.features.display.lens import Lens
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot

SHOW_USES = "citewell.showUses"


def handlers(editor: Editor, buffers: Buffers, projects: Projects, checks: Checking) -> Handlers:
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


def _lenses(checks: Checking, snapshot: WorkspaceSnapshot) -> Encoded:
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
    return Encoded([_lens(snapshot, lens) for lens in found])


def _lens(snapshot: WorkspaceSnapshot, lens: Lens) -> dict[str, Any]:
    line, start, last, end = snapshot.index.places(lens.span)
    command: dict[str, Any] = {"title": lens.title, "command": SHOW_USES if lens.key else ""}
    if lens.key:
        command["arguments"] = [snapshot.uri, lens.key]
    place = {
        "start": {"line": line, "character": start},
        "end": {"line": last, "character": end},
    }
    return {"range": place, "command": command}
