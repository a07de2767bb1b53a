"""textDocument/inlayHint: author and year beside keys, what the check found beside entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.buffers import Buffers
from citewell.lsp.checking import Checking
from citewell.lsp.projects import Projects
from citewell.lsp.registry import Handlers, Request

if TYPE_CHECKING:
    from citewell.features.inlay import Hint
    from citewell.lsp.snapshot import Scope
    from citewell.model.bib import BibEntry


def handlers(buffers: Buffers, projects: Projects, checks: Checking) -> Handlers:
    """Offer hints for the part of a document that an editor shows."""

    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        scope = await projects.scope(params.text_document.uri)
        if scope is None:
            return None
        found = await projects.read(lambda: _hints(checks, scope, params.range))
        buffers.refuse_outdated(scope)
        return found

    return (Request(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hint),)


def _hints(checks: Checking, scope: Scope, shown: types.Range) -> list[types.InlayHint]:
    from citewell.features.inlay import citation_hints, entry_hints

    options, span = scope.options.inlay, scope.index.span(shown)
    found: list[Hint] = []
    if scope.circle.bib is not None:
        if options.verification:
            check_of = checks.answers.check_of(scope.circle.bib)
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
