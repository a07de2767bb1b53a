"""workspace/executeCommand: insert an entry, return the engine's state.

A completion item runs `citewell.insert` once its text is in the document. It writes through the
editor, so that one undo reverts it and unsaved buffers are respected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Locator
from citewell.lsp.documents.edit_applier import EditApplier
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.progress import Obstacles
from citewell.lsp.protocol.wire import Encoded, Location
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.requests.code_action import ActArguments
from citewell.lsp.state import memory
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import EditQueue, ShownLists, replanned
from citewell.lsp.state.zotero import Zotero
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Span

if TYPE_CHECKING:
    from citewell.features.action import Action
    from citewell.features.document_references import DocumentReference, DocumentReferences
    from citewell.lsp.documents.buffers import Snapshot, WorkspaceSnapshot
    from citewell.model.bib import BibEntry, BibFile
    from citewell.model.check import Check
    from citewell.model.feedback import Feedback

INSERT = "citewell.insert"
STATUS = "citewell.status"


class InsertArguments(msgspec.Struct, frozen=True):
    """The arguments that a completion item passes to the command."""

    uri: str
    work: str = ""
    """Id of the paper to add; empty when only the text is to be tidied."""
    key: str = ""
    line: int = 0
    text: str = ""
    """The item's text in the document, on that line."""
    typed: str | None = None
    """The replaced text before the cursor, which is restored if the entry cannot be written."""
    tail: str = ""
    """The text after the cursor that the item should have replaced."""
    rest: int = 0
    """Number of characters of the line after the replaced text."""
    list: int = 0
    """Number of the item's list."""


def handlers(editor: Editor, engine: WorkerEngine, zotero: Zotero, inserter: Inserter) -> Handlers:
    """The commands behind completion items, and the state of the engine."""

    async def insert(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, INSERT, arguments, InsertArguments)
        if wanted is None:
            return {"applied": False}
        # A cancelled command must not leave a citation without its entry.
        return await asyncio.shield(inserter.insert(wanted))

    async def status() -> dict[str, Any]:
        await editor.configured()
        # Showing the state must not load a library into memory.
        ask = engine.status if engine.begun else engine.status_at_rest
        state = await asyncio.to_thread(ask)
        found = msgspec.to_builtins(state)
        found["problems"] = [
            {"code": p.code, "message": p.message, "hint": p.hint} for p in state.problems
        ]
        found["zotero"] = zotero.state()
        return {"library": "", "works": 0, **found}

    return (Command(INSERT, insert), Command(STATUS, status))


class Inserter(Struct, frozen=True, eq=False):
    """Adds the entry of an accepted paper. For the event loop."""

    projects: Projects
    applier: EditApplier
    edits: EditQueue
    citing: CitationService
    lists: ShownLists
    obstacles: Obstacles

    async def insert(self, wanted: InsertArguments, *, again: bool = False) -> dict[str, Any]:
        """Insert the entry of an accepted paper; `again`: also its citation, which was removed."""

        def failed(error: Exception) -> Problem:
            message = f"The entry for `{wanted.key}` could not be added: {error}."
            hint = "Run the completion again at the key, or add the entry by hand."
            return Problem("insert-failed", message, hint)

        async def edit(learned: list[Feedback]) -> dict[str, Any]:
            done: dict[str, Any] = {"applied": False}
            try:
                done = await replanned(lambda: self._insert_now(wanted, learned, again), learned)
            finally:
                if not done["applied"] and wanted.work and not again:
                    await self._put_back(wanted)
            return done

        return await self.edits.run(edit, failed)

    async def _insert_now(
        self, wanted: InsertArguments, learned: list[Feedback], again: bool
    ) -> dict[str, Any]:
        if wanted.work:
            work = await self.citing.find_work(wanted.work)
            if work is None:
                raise CitewellError(_unknown(wanted))
            plan = await self.citing.plan_insertion(wanted.uri, work, wanted.key)
            if plan is None:
                raise CitewellError(_not_open(wanted))
            self.obstacles.show(plan.problems, lambda: self.insert(wanted, again=True))
            snapshot, texts, key, edits = plan.snapshot, plan.texts, plan.key, list(plan.edits)
            if edits:
                learned.append(memory.feedback_on(self.lists.recall(wanted.list), snapshot, work))
        else:
            found = await self.projects.snapshot(wanted.uri)
            if found is None:
                raise CitewellError(_not_open(wanted))
            snapshot, key, edits = found, wanted.key, []
            texts = {snapshot.path: snapshot.document.text}
        if not key:
            return {"applied": False}
        tidy = _cited(snapshot, wanted, key) if again else _tidy(snapshot, wanted, key)
        if again and tidy is None:
            raise CitewellError(_not_open(wanted))
        if tidy is not None:
            edits = _merged(edits, tidy)
        if not edits:
            return {"applied": True, "key": key}
        return {"applied": await self.applier.apply(edits, texts, f"Cite {key}"), "key": key}

    async def _put_back(self, wanted: InsertArguments) -> None:
        """Remove a citation without its entry, and restore the author's text."""
        snapshot = await self.projects.snapshot(wanted.uri)
        if snapshot is None or wanted.typed is None or not self.applier.can_apply:
            return
        typed = wanted.typed + wanted.tail
        edit = (
            _replaced(snapshot, wanted, wanted.text + wanted.tail, typed) if wanted.tail else None
        )
        edit = edit or _replaced(snapshot, wanted, wanted.text, typed)
        if edit is not None:
            texts = {snapshot.path: snapshot.document.text}
            await self.applier.apply([edit], texts, "Undo the citation")


def _not_open(wanted: InsertArguments) -> Problem:
    return Problem(
        "document-not-open",
        f"The entry for `{wanted.key}` was not added: its document is closed or keeps changing.",
        "Complete the citation again.",
    )


def _unknown(wanted: InsertArguments) -> Problem:
    return Problem(
        "work-unknown",
        f"The entry for `{wanted.key}` was not added: the library no longer has its paper.",
        "Complete the citation again.",
    )


def _tidy(snapshot: Snapshot, wanted: InsertArguments, key: str) -> FileEdit | None:
    """Remove the tail that an editor left, and write the key of the new entry. Only if the line is
    exactly the item's result: otherwise the author continued typing."""
    tail = wanted.tail
    at = _place(snapshot, wanted, wanted.text + tail) if tail else None
    if at is None:
        at, tail = _place(snapshot, wanted, wanted.text), ""
    if at is None:
        return None
    changes: list[TextEdit] = []
    if key != wanted.key and wanted.key in wanted.text:
        place = at + wanted.text.index(wanted.key)
        changes.append(TextEdit(Span(place, place + len(wanted.key)), key))
    if tail:
        place = at + len(wanted.text)
        changes.append(TextEdit(Span(place, place + len(tail)), ""))
    return FileEdit(str(snapshot.path), tuple(changes)) if changes else None


def _cited(snapshot: Snapshot, wanted: InsertArguments, key: str) -> FileEdit | None:
    """The citation in place of the restored text."""
    typed = (wanted.typed or "") + wanted.tail
    return _replaced(snapshot, wanted, typed, wanted.text.replace(wanted.key, key, 1))


def _replaced(snapshot: Snapshot, wanted: InsertArguments, old: str, new: str) -> FileEdit | None:
    at = _place(snapshot, wanted, old)
    if at is None:
        return None
    return FileEdit(str(snapshot.path), (TextEdit(Span(at, at + len(old)), new),))


def _place(snapshot: Snapshot, wanted: InsertArguments, text: str) -> int | None:
    """The offset of the text, if the rest of the line is unchanged."""
    start = snapshot.index.offset(types.Position(line=wanted.line, character=0))
    end = snapshot.index.offset(types.Position(line=wanted.line, character=2**31 - 1))
    written = snapshot.document.text[start : max(start, end - wanted.rest)]
    return start + len(written) - len(text) if written.endswith(text) else None


def _merged(edits: Sequence[FileEdit], more: FileEdit) -> list[FileEdit]:
    """All edits, with those of one file combined."""
    merged: list[FileEdit] = []
    taken = False
    for edit in edits:
        if Path(edit.path) == Path(more.path):
            both = tuple(sorted((*edit.edits, *more.edits), key=lambda change: change.span))
            merged.append(msgspec.structs.replace(edit, edits=both))
            taken = True
        else:
            merged.append(edit)
    return merged if taken else [*merged, more]


# `citewell.documentReferences`: the list of references beside a document.
#
# A client with this list announces it (`experimental.citewell.references`). It gets the
# notification `citewell/referencesChanged`, and requests the list again, when a change in another
# file, or a new check, altered it.

DOCUMENT_REFERENCES = "citewell.documentReferences"


def reference_list_handlers(
    editor: Editor, projects: Projects, checks: ReferenceChecks
) -> Handlers:
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
    """A fix as JSON, with the arguments of `citewell.act`."""
    wanted = ActArguments(
        uri=uri,
        provider="verification",
        name=fix.name,
        title=fix.title,
        arguments=dict(fix.arguments),
        slow=fix.slow,
    )
    return {"title": fix.title, "preferred": fix.is_preferred, "act": msgspec.to_builtins(wanted)}
