"""textDocument/inlayHint: author and year beside keys, what the check found beside entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.registration.registry import Handlers, Request
from citewell.lsp.state.checking import ReferenceChecks

if TYPE_CHECKING:
    from citewell.features.display.inlay import Hint
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot
    from citewell.model.bib import BibEntry


def handlers(buffers: Buffers, projects: Projects, checks: ReferenceChecks) -> Handlers:
    """Hints for the part of a document that an editor shows."""

    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        found = await projects.read(lambda: _hints(checks, snapshot, params.range))
        buffers.refuse_outdated(snapshot)
        return found

    return (Request(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hint),)


def _hints(
    checks: ReferenceChecks, snapshot: WorkspaceSnapshot, shown: types.Range
) -> list[types.InlayHint]:
    from citewell.features.display.inlay import citation_hints, entry_hints

    options, span = snapshot.options.inlay, snapshot.index.span(shown)
    found: list[Hint] = []
    if snapshot.linked.bib is not None:
        if options.verification:
            check_of = checks.answers.check_of(snapshot.linked.bib)
            found = entry_hints(snapshot.linked.bib, check_of, span)
    elif snapshot.linked.document is not None and options.citations:
        found = citation_hints(snapshot.linked.document, lambda key: _entry(snapshot, key), span)
    return [
        types.InlayHint(
            position=snapshot.index.position(hint.offset),
            label=hint.text,
            tooltip=hint.tooltip or None,
            padding_left=True,
        )
        for hint in found
    ]


def _entry(snapshot: WorkspaceSnapshot, key: str) -> BibEntry | None:
    place = snapshot.keys.definition(key)
    return place.entry if place is not None else None
