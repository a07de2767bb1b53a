"""textDocument/definition, references and documentHighlight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.editor import Editor
from citewell.lsp.places import Locator
from citewell.lsp.projects import Projects
from citewell.lsp.registry import Handlers, Request
from citewell.lsp.wire import DocumentHighlight, Encoded, LocationLink

if TYPE_CHECKING:
    from citewell.lsp.snapshot import Scope


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """Offer ways from a key to the places where it stands."""

    async def definition(params: types.DefinitionParams) -> Encoded | None:
        scope = await projects.scope(params.text_document.uri)
        if scope is None:
            return None
        offset = scope.index.offset(params.position)
        links = editor.flags.definition_links
        return await projects.read(lambda: _define(scope, offset, editor.encoding, links))

    async def references(params: types.ReferenceParams) -> Encoded | None:
        scope = await projects.scope(params.text_document.uri)
        if scope is None:
            return None
        offset = scope.index.offset(params.position)
        declarations = params.context.include_declaration
        return await projects.read(
            lambda: _references(scope, offset, editor.encoding, declarations)
        )

    async def document_highlight(params: types.DocumentHighlightParams) -> Encoded | None:
        scope = await projects.scope(params.text_document.uri)
        if scope is None:
            return None
        offset = scope.index.offset(params.position)
        return await projects.read(lambda: _highlights(scope, offset, editor.encoding))

    return (
        Request(types.TEXT_DOCUMENT_DEFINITION, definition, switches=("definition",)),
        Request(types.TEXT_DOCUMENT_REFERENCES, references, switches=("references",)),
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, document_highlight, switches=("highlights",)
        ),
    )


def _define(scope: Scope, offset: int, encoding: str, links: bool) -> Encoded | None:
    from citewell.features.definition import define

    circle = scope.circle
    found = define(circle.all_keys, circle.projects, scope.path, offset)
    if found is None or not found.targets:
        return None
    locator = Locator(scope, encoding)
    if not links:
        return Encoded([locator.location(t.path, t.name) for t in found.targets])
    origin = locator.range(scope.path, found.origin)
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


def _references(scope: Scope, offset: int, encoding: str, declarations: bool) -> Encoded | None:
    from citewell.features.references import references

    table = scope.circle.all_keys
    found = references(table, scope.path, offset, declarations=declarations)
    if not found:
        return None
    locator = Locator(scope, encoding)
    return Encoded([locator.location(place.path, place.span) for place in found])


def _highlights(scope: Scope, offset: int, encoding: str) -> Encoded | None:
    from citewell.features.references import highlights

    found = highlights(scope.keys, scope.path, offset)
    if not found:
        return None
    kinds = types.DocumentHighlightKind
    locator = Locator(scope, encoding)
    return Encoded(
        [
            DocumentHighlight(
                locator.range(place.path, place.span), kinds.Write if place.defines else kinds.Read
            )
            for place in found
        ]
    )
