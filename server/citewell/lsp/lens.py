"""textDocument/codeLens: how often each entry of a .bib is cited, and where its record is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from citewell.lsp.buffers import Buffers
from citewell.lsp.checking import Checking
from citewell.lsp.editor import Editor
from citewell.lsp.places import Locator
from citewell.lsp.projects import Projects
from citewell.lsp.registry import Command, Handlers, Request
from citewell.lsp.wire import Encoded

if TYPE_CHECKING:
    from citewell.features.lens import Lens
    from citewell.lsp.snapshot import Scope

SHOW_USES = "citewell.showUses"


def handlers(editor: Editor, buffers: Buffers, projects: Projects, checks: Checking) -> Handlers:
    """Offer the lenses of a .bib, and the way from one to the places that cite the entry."""
    visited: dict[str, int] = {}

    async def code_lens(params: types.CodeLensParams) -> Encoded | None:
        scope = await projects.scope(params.text_document.uri)
        if scope is None or scope.circle.bib is None:
            return None
        found = await projects.read(lambda: _lenses(checks, scope))
        buffers.refuse_outdated(scope)
        return found

    async def show_uses(uri: Any, key: Any) -> Encoded | None:
        """The places that cite a key; an editor that can is shown the next one at each call."""
        scope = await projects.scope(str(uri))
        if scope is None:
            return None
        locator = Locator(scope, editor.encoding)
        places = [
            locator.location(place.path, place.span)
            for place in scope.circle.all_keys.uses(str(key))
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


def _lenses(checks: Checking, scope: Scope) -> Encoded:
    from citewell.features.lens import entry_lenses

    options, bib = scope.options.lens, scope.circle.bib
    assert bib is not None
    table = scope.circle.all_keys
    found = entry_lenses(
        bib,
        table.count,
        checks.answers.source_of(bib) if options.source else None,
        citations=options.citations,
    )
    return Encoded([_lens(scope, lens) for lens in found])


def _lens(scope: Scope, lens: Lens) -> dict[str, Any]:
    line, start, last, end = scope.index.places(lens.span)
    command: dict[str, Any] = {"title": lens.title, "command": SHOW_USES if lens.key else ""}
    if lens.key:
        command["arguments"] = [scope.uri, lens.key]
    place = {
        "start": {"line": line, "character": start},
        "end": {"line": last, "character": end},
    }
    return {"range": place, "command": command}
