"""textDocument/definition, references and documentHighlight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.projects import Projects
from citewell.lsp.documents.snapshot import Locator
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import DocumentHighlight, Encoded, LocationLink
from citewell.lsp.registration.registry import Handlers, Request

if TYPE_CHECKING:
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """The ways from a key to the places where it stands."""

    async def definition(params: types.DefinitionParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        links = editor.flags.definition_links
        return await projects.read(lambda: _define(snapshot, offset, links))

    async def references(params: types.ReferenceParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        declarations = params.context.include_declaration
        return await projects.read(lambda: _references(snapshot, offset, declarations))

    async def document_highlight(params: types.DocumentHighlightParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        return await projects.read(lambda: _highlights(snapshot, offset))

    return (
        Request(types.TEXT_DOCUMENT_DEFINITION, definition, switches=("definition",)),
        Request(types.TEXT_DOCUMENT_REFERENCES, references, switches=("references",)),
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, document_highlight, switches=("highlights",)
        ),
    )


def _define(snapshot: WorkspaceSnapshot, offset: int, links: bool) -> Encoded | None:
    from citewell.features.navigation.definition import define

    linked = snapshot.linked
    found = define(linked.all_keys, linked.projects, snapshot.path, offset)
    if found is None or not found.targets:
        return None
    locator = Locator(snapshot)
    if not links:
        return Encoded([locator.location(t.path, t.name) for t in found.targets])
    origin = locator.range(snapshot.path, found.origin)
    return Encoded(
        [
            LocationLink(
                origin,
                locator.uri(target.path),
                locator.range(target.path, target.whole),
                locator.range(target.path, target.name),
            )
            for target in found.targets
        ]
    )


def _references(snapshot: WorkspaceSnapshot, offset: int, declarations: bool) -> Encoded | None:
    from citewell.features.navigation.definition import references

    table = snapshot.linked.all_keys
    found = references(table, snapshot.path, offset, declarations=declarations)
    if not found:
        return None
    locator = Locator(snapshot)
    return Encoded([locator.location(place.path, place.span) for place in found])


def _highlights(snapshot: WorkspaceSnapshot, offset: int) -> Encoded | None:
    from citewell.features.navigation.definition import highlights

    found = highlights(snapshot.keys, snapshot.path, offset)
    if not found:
        return None
    kinds = types.DocumentHighlightKind
    locator = Locator(snapshot)
    return Encoded(
        [
            DocumentHighlight(
                locator.range(place.path, place.span), kinds.Write if place.defines else kinds.Read
            )
            for place in found
        ]
    )
