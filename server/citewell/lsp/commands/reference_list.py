"""`citewell.documentReferences`: the list of references that is shown beside a document.

A client that shows such a list announces this (`experimental.citewell.references`). It is sent the
notification `citewell/referencesChanged`, and requests the list again, when a change in another
file, or an answer about a reference, altered it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from citewell.lsp.documents.buffers import Locator
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import Encoded, Location
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.requests.code_action import ActArguments
from citewell.lsp.state.checking import ReferenceChecks

if TYPE_CHECKING:
    from citewell.features.action import Action
    from citewell.features.document_references import DocumentReference, DocumentReferences
    from citewell.lsp.documents.buffers import WorkspaceSnapshot
    from citewell.model.bib import BibEntry, BibFile
    from citewell.model.check import Check

DOCUMENT_REFERENCES = "citewell.documentReferences"


def handlers(editor: Editor, projects: Projects, checks: ReferenceChecks) -> Handlers:
    """The command that lists the references of a document."""

    async def document_references(uri: Any) -> Encoded | None:
        snapshot = await projects.workspace(str(uri))
        if snapshot is None:
            return None
        return await projects.read(lambda: _answer(editor, checks, snapshot))

    return (Command(DOCUMENT_REFERENCES, document_references),)


def _answer(editor: Editor, checks: ReferenceChecks, snapshot: WorkspaceSnapshot) -> Encoded:
    from citewell.features.document_references import document_references

    known: dict[str, Any] = {}

    def check_of(bib: BibFile, entry: BibEntry) -> Check | None:
        if bib.path not in known:
            known[bib.path] = checks.answers.check_of(bib)
        check: Check | None = known[bib.path](entry)
        return check

    found = document_references(snapshot.keys, snapshot.path, check_of)
    return Encoded(_wire(snapshot, found))


def _wire(snapshot: WorkspaceSnapshot, found: DocumentReferences) -> dict[str, Any]:
    locator = Locator(snapshot)
    return {
        "uri": snapshot.uri,
        "total": found.total,
        "references": [_reference(locator, one) for one in found.references],
    }


def _reference(locator: Locator, one: DocumentReference) -> dict[str, Any]:
    defined: Location | None = None
    if one.defined is not None:
        defined = locator.location(one.defined.path, one.defined.span)
    return {
        "key": one.key,
        "state": one.state,
        "sign": one.sign,
        "words": one.words,
        "title": one.title,
        "authors": one.authors,
        "year": one.year,
        "venue": one.venue,
        "defined": defined,
        "cited": [locator.location(place.path, place.span) for place in one.cited],
        "citations": one.citations,
        "problems": one.problems,
        "fixes": [_fix(fix, defined.uri) for fix in one.fixes] if defined is not None else [],
    }


def _fix(fix: Action, uri: str) -> dict[str, Any]:
    """A fix as JSON, with the arguments of `citewell.act` that apply it."""
    wanted = ActArguments(
        uri=uri,
        provider="verification",
        name=fix.name,
        title=fix.title,
        arguments=dict(fix.arguments),
        slow=fix.slow,
    )
    return {
        "title": fix.title,
        "preferred": fix.is_preferred,
        "act": msgspec.to_builtins(wanted),
    }
