"""workspace/executeCommand: insert an entry, tell the engine's state.

`citewell.insert` is what a completion item runs once its text is in the document. It writes through
the editor, so that one undo takes it back and unsaved buffers are respected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from citewell.lsp.documents.edit_applier import StaleEditError
from citewell.lsp.protocol.arguments import arguments_of
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import Command, Handlers
from citewell.lsp.requests import citing
from citewell.lsp.state import picker_history
from citewell.lsp.state.session import Session
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit

if TYPE_CHECKING:
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model.feedback import Feedback

logger = logging.getLogger(__name__)

INSERT = "citewell.insert"
STATUS = "citewell.status"


class InsertArguments(msgspec.Struct, frozen=True):
    """What a completion item gives to the command."""

    uri: str
    work: str = ""
    """Id of the paper whose entry is wanted; empty when only the text is to be tidied."""
    key: str = ""
    line: int = 0
    text: str = ""
    """What the item wrote into the document, on that line."""
    typed: str | None = None
    """What stood there before the cursor: put back when the entry cannot be written."""
    tail: str = ""
    """What the item was to replace behind the cursor."""
    rest: int = 0
    """How many characters of the line stand behind what was to be replaced."""
    list: int = 0
    """Number of the list that the item stood in."""


def handlers(editor: Editor, session: Session) -> Handlers:
    """The commands behind completion items, and the state of the engine."""

    async def insert(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, INSERT, arguments, InsertArguments)
        if wanted is None:
            return {"applied": False}
        # A cancelled command must not leave a citation without its entry.
        return await asyncio.shield(_insert(session, wanted))

    async def status() -> dict[str, Any]:
        await editor.configured()
        engine = session.engine
        # Whoever only shows the state must not cost the memory of a library.
        ask = engine.status if engine.begun else engine.status_at_rest
        state = await asyncio.to_thread(ask)
        found = msgspec.to_builtins(state)
        found["problems"] = [
            {"code": p.code, "message": p.message, "hint": p.hint} for p in state.problems
        ]
        found["zotero"] = session.zotero.state()
        return {"library": "", "works": 0, **found}

    return (
        Command(INSERT, insert),
        Command(STATUS, status),
    )


async def _insert(
    session: Session, wanted: InsertArguments, *, again: bool = False
) -> dict[str, Any]:
    """The entry of what was accepted; `again`: with the citation, which had been taken back."""

    def failed(error: Exception) -> Problem:
        message = f"The entry for `{wanted.key}` could not be added: {error}."
        hint = "Run the completion again at the key, or add the entry by hand."
        return Problem("insert-failed", message, hint)

    async def edit(learned: list[Feedback]) -> dict[str, Any]:
        done: dict[str, Any] = {"applied": False}
        try:
            done = await replanned(lambda: _insert_now(session, wanted, learned, again), learned)
        finally:
            if not done["applied"] and wanted.work and not again:
                await _put_back(session, wanted)
        return done

    return await one_edit(session, edit, failed)


async def one_edit(
    session: Session,
    edit: Callable[[list[Feedback]], Awaitable[dict[str, Any]]],
    failed: Callable[[Exception], Problem],
) -> dict[str, Any]:
    """Make an edit while no other is made; what went wrong is told, and nothing was changed then.

    What `edit` adds to its list is learned once the editor has applied it.
    """
    learned: list[Feedback] = []
    done: dict[str, Any] = {"applied": False}
    async with session.edits:
        try:
            done = await edit(learned)
        except CitewellError as error:
            session.tell([error.problem], again=True)
        except Exception as error:
            logger.exception("An edit failed")
            session.tell([failed(error)], again=True)
    if done["applied"]:
        await session.learn(learned)
    return done


async def replanned(
    edit: Callable[[], Awaitable[dict[str, Any]]], learned: list[Feedback]
) -> dict[str, Any]:
    """Plan and apply again, a few times, while the author types faster than the editor applies."""
    for _ in range(citing.RETRIES - 1):
        try:
            return await edit()
        except StaleEditError:
            learned.clear()
    return await edit()


async def _insert_now(
    session: Session,
    wanted: InsertArguments,
    learned: list[Feedback],
    again: bool,
) -> dict[str, Any]:
    if wanted.work:
        work = await citing.find_work(session, wanted.work)
        if work is None:
            raise CitewellError(_unknown(wanted))
        plan = await citing.plan_insertion(session, wanted.uri, work, wanted.key)
        if plan is None:
            raise CitewellError(_not_open(wanted))
        session.obstacles.tell(plan.problems, lambda: _insert(session, wanted, again=True))
        snapshot, texts, key, edits = plan.snapshot, plan.texts, plan.key, list(plan.edits)
        if edits:
            learned.append(
                picker_history.feedback_on(session.lists.recall(wanted.list), snapshot, work)
            )
    else:
        found = await session.projects.snapshot(wanted.uri)
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
    saved = _saved(session, snapshot, edits)
    others = [edit for edit in edits if edit not in saved]
    applied = not others or await session.applier.apply(others, texts, f"Cite {key}")
    if applied and saved:
        await session.applier.check_meaning(saved, texts)
        applied = session.applier.write(saved, texts)
        session.touched([Path(edit.path) for edit in saved])
    return {"applied": applied, "key": key}


def _saved(session: Session, snapshot: Snapshot, edits: Sequence[FileEdit]) -> list[FileEdit]:
    """The edits of .bib files that are written at once: the editor does not show them, and the
    author wants no unsaved ones."""
    if not snapshot.options.bib.save:
        return []
    shown = session.buffers.open_document
    bibs = (edit for edit in edits if edit.path.lower().endswith((".bib", ".bibtex")))
    return [edit for edit in bibs if shown(Path(edit.path)) is None]


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
    """Take away the tail that an editor left behind, and write the key that the entry really got.

    Only where the line is exactly what the item made of it: else the author went on typing.
    """
    from citewell.model.bib import TextEdit
    from citewell.model.document import Span

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
    """The citation in the place of what was typed, which had been put back."""
    typed = (wanted.typed or "") + wanted.tail
    return _replaced(snapshot, wanted, typed, wanted.text.replace(wanted.key, key, 1))


async def _put_back(session: Session, wanted: InsertArguments) -> None:
    """Take back a citation whose entry was not written: what was typed stands there again."""
    snapshot = await session.projects.snapshot(wanted.uri)
    if snapshot is None or wanted.typed is None or not session.applier.can_apply:
        return
    typed = wanted.typed + wanted.tail
    edit = _replaced(snapshot, wanted, wanted.text + wanted.tail, typed) if wanted.tail else None
    edit = edit or _replaced(snapshot, wanted, wanted.text, typed)
    if edit is not None:
        texts = {snapshot.path: snapshot.document.text}
        await session.applier.apply([edit], texts, "Undo the citation")


def _replaced(snapshot: Snapshot, wanted: InsertArguments, old: str, new: str) -> FileEdit | None:
    from citewell.model.bib import TextEdit
    from citewell.model.document import Span

    at = _place(snapshot, wanted, old)
    if at is None:
        return None
    return FileEdit(str(snapshot.path), (TextEdit(Span(at, at + len(old)), new),))


def _place(snapshot: Snapshot, wanted: InsertArguments, text: str) -> int | None:
    """Where the text stands, if the line is what it was but for it."""
    start = snapshot.index.offset(types.Position(line=wanted.line, character=0))
    end = snapshot.index.offset(types.Position(line=wanted.line, character=2**31 - 1))
    written = snapshot.document.text[start : max(start, end - wanted.rest)]
    return start + len(written) - len(text) if written.endswith(text) else None


def _merged(edits: Sequence[FileEdit], more: FileEdit) -> list[FileEdit]:
    """All edits, with those of one file in one piece."""
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
