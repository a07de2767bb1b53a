"""textDocument/inlayHint: author and year beside keys, what the check found beside entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.features.inlay import Hint
    from citewell.lsp.server import Server
    from citewell.lsp.snapshot import Scope
    from citewell.model.bib import BibEntry


def register(server: Server) -> None:
    """Offer hints for the part of a document that an editor shows."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        scope = await session.scope(params.text_document.uri)
        if scope is None:
            return None
        found = await session.read(lambda: _hints(server, scope, params.range))
        session.buffers.refuse_outdated(scope)
        return found


def _hints(server: Server, scope: Scope, shown: types.Range) -> list[types.InlayHint]:
    from citewell.features.inlay import citation_hints, entry_hints

    options, span = scope.options.inlay, scope.index.span(shown)
    found: list[Hint] = []
    if scope.circle.bib is not None:
        if options.verification:
            check_of = server.diagnostics.checking.answers.check_of(scope.circle.bib)
            found = entry_hints(scope.circle.bib, check_of, span)
    elif scope.circle.document is not None and options.citations:
        found = citation_hints(scope.circle.document, lambda key: _entry(scope, key), span)
    return [
        types.InlayHint(
            position=scope.index.position(hint.offset),
            label=hint.text,
            tooltip=hint.tooltip or None,
            padding_left=True,
        )
        for hint in found
    ]


def _entry(scope: Scope, key: str) -> BibEntry | None:
    place = scope.keys.definition(key)
    return place.entry if place is not None else None
