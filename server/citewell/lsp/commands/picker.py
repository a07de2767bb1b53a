"""workspace/executeCommand for a picker of papers: search as the author types, cite what is chosen.

`citewell.search` is a pure question and may be cancelled at any time. `citewell.insertPaper` writes
the citation and its entry through the editor, in one step that one undo takes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from citewell.lsp.commands import execute as commands
from citewell.lsp.protocol.arguments import arguments_of
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.line_index import LineIndex
from citewell.lsp.registration.registry import Command, Handlers
from citewell.lsp.requests import citing
from citewell.lsp.state.picker_history import adds_entry
from citewell.lsp.state.session import Session
from citewell.model import CitewellError, CitingPaper, Problem, SearchResult, Work
from citewell.model.document import Document, Span

if TYPE_CHECKING:
    from citewell.documents.keys.index import KeyIndex
    from citewell.engine.contract import Tier
    from citewell.features.action import ActionPlan
    from citewell.features.citing.complete import FindWork, NewKey
    from citewell.features.citing.picker_rows import PaperRow
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model.feedback import Feedback

logger = logging.getLogger(__name__)

SEARCH = "citewell.search"
INSERT_PAPER = "citewell.insertPaper"
MOST_ROWS = 100


class Position(msgspec.Struct, frozen=True):
    """In the units that client and server agreed on."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """From one position to another."""

    start: Position
    end: Position


class SearchArguments(msgspec.Struct, frozen=True):
    """What a picker asks for."""

    query: str = ""
    uri: str = ""
    """Of the document in which the author writes; empty: nothing is known of the paper."""
    position: Position | None = None
    """Where the citation will stand; its sentence then counts, too."""
    limit: int = 20
    deep: bool = False
    """Search longer, with the cross-encoder if one is set: not while somebody types."""


class InsertPaperArguments(msgspec.Struct, frozen=True, rename="camel"):
    """What was chosen, and where it goes."""

    uri: str
    work: str = ""
    """Id of a paper; empty for an entry that a .bib has already."""
    key: str = ""
    """Of that entry. With `work` it is not asked for."""
    position: Position | None = None
    range: Range | None = None
    """What the citation takes the place of; stands for `position`."""
    bib_only: bool = False
    """Add the entry and cite nothing."""


def handlers(editor: Editor, session: Session) -> Handlers:
    """The two commands of a picker."""

    async def search(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, SEARCH, arguments, SearchArguments)
        if wanted is None:
            return {"rows": [], "problems": []}
        await editor.configured()
        return await _search(session, wanted)

    async def insert_paper(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, INSERT_PAPER, arguments, InsertPaperArguments)
        if wanted is None:
            return {"applied": False}
        await editor.configured()
        # A cancelled command must not leave a citation without its entry.
        return await asyncio.shield(_insert(session, wanted))

    # -- search -----------------------------------------------------------------------------------

    return (
        Command(SEARCH, search),
        Command(INSERT_PAPER, insert_paper),
    )


async def _search(session: Session, wanted: SearchArguments) -> dict[str, Any]:
    from citewell.features.citing.picker_rows import asks_nothing, paper_rows, search_query
    from citewell.features.text.entry_state import unknown

    limit = max(1, min(wanted.limit, MOST_ROWS))
    snapshot = await session.projects.snapshot(wanted.uri) if wanted.uri else None
    index, find_work, new_key = await _own(session, snapshot, wanted.uri)

    def ask() -> Any:
        document, offset, paper = None, None, CitingPaper()
        if snapshot is not None:
            document, paper = snapshot.document, snapshot.state.citing
            if wanted.position is not None:
                offset = snapshot.index.offset(_position(wanted.position))
        return search_query(document, offset, wanted.query, paper)

    query = await session.projects.read(ask)
    result = SearchResult()
    if not asks_nothing(query):
        tier: Tier = "full" if wanted.deep else "fast"
        result = await session.engine.find_async(query, limit, tier=tier)

    def rows() -> list[PaperRow]:
        entries = index()
        return paper_rows(
            query.text,
            result.hits,
            index=entries,
            find_work=find_work,
            new_key=new_key,
            check_of=unknown if entries is None else session.checks.answers.find_check(entries),
            limit=limit,
        )

    found = await session.projects.read(rows)
    session.picker_history.add(query, result.variant, found)
    problems = result.problems if result.hits else (*result.problems, *result.dropped)
    return {
        "rows": msgspec.to_builtins(found),
        "problems": [{"code": p.code, "message": p.message, "hint": p.hint} for p in problems],
    }


async def _own(
    session: Session, snapshot: Snapshot | None, uri: str
) -> tuple[Callable[[], KeyIndex | None], FindWork, NewKey]:
    """The author's own entries, as far as the document tells of them. For the reader thread."""
    if snapshot is not None:
        state = snapshot.state
        return lambda: state.index, state.find_work, state.new_key
    from citewell.documents.keys.pattern import make_key

    options = session.buffers.options_of(uri)
    opened = await session.projects.bib(uri) if uri else None
    if opened is None:
        return (
            lambda: None,
            lambda work: None,
            lambda work: make_key(work, options.bib.key_pattern, frozenset()),
        )
    from citewell.features.citing.known_works import KnownWorks

    bib = opened[0]
    taken = frozenset(bib.by_key) | frozenset(key.lower() for key in bib.by_key)
    known = await session.projects.read(lambda: KnownWorks([bib]))
    return (
        lambda: None,
        known.find,
        lambda work: make_key(work, options.bib.key_pattern, taken),
    )


# -- insert -----------------------------------------------------------------------------------


async def _insert(session: Session, wanted: InsertPaperArguments) -> dict[str, Any]:

    def failed(error: Exception) -> Problem:
        message = f"The paper could not be cited: {error}."
        return Problem("insert-failed", message, "Nothing was changed. Choose it again.")

    async def edit(learned: list[Feedback]) -> dict[str, Any]:
        return await commands.replanned(lambda: _insert_now(session, wanted, learned), learned)

    return await commands.one_edit(session, edit, failed)


async def _insert_now(
    session: Session,
    wanted: InsertPaperArguments,
    learned: list[Feedback],
) -> dict[str, Any]:
    work: Work | None = None
    if wanted.work:
        work = await citing.find_work(session, wanted.work)
        if work is None:
            raise CitewellError(_unknown())
    elif not wanted.key or wanted.bib_only:
        missing = "`work`" if wanted.bib_only else "`work` or `key`"
        message = f"Invalid arguments for `{INSERT_PAPER}`: {missing} is missing."
        raise CitewellError(Problem("command-arguments", message))
    opened = await session.projects.bib(wanted.uri)
    if opened is not None:
        if work is None:
            raise CitewellError(_unknown())
        return await _insert_into_bib(session, wanted.uri, work, learned)
    if wanted.bib_only:
        assert work is not None
        insertion = await citing.plan_insertion(session, wanted.uri, work, wanted.key)
        if insertion is None:
            raise CitewellError(_not_open())
        session.obstacles.tell(insertion.problems, lambda: _insert(session, wanted))
        if insertion.edits:
            folder = insertion.snapshot.state.project.root.parent
            learned.append(session.picker_history.taken(folder, work))
        return await _applied(session, insertion.edits, insertion.texts, insertion.key)
    return await _cite(session, wanted, work, learned)


async def _cite(
    session: Session,
    wanted: InsertPaperArguments,
    work: Work | None,
    learned: list[Feedback],
) -> dict[str, Any]:
    from citewell.features.actions.cite_paper import plan_cite

    for _ in range(citing.RETRIES):
        snapshot = await session.projects.snapshot(wanted.uri, fresh=True)
        if snapshot is None:
            break
        found = await session.projects.read(
            partial(
                plan_cite,
                snapshot.state.project,
                snapshot.document,
                _span(wanted, snapshot.index, snapshot.document),
                snapshot.options,
                work=work,
                key=wanted.key,
            )
        )
        plan: ActionPlan = found.plan
        if not await session.projects.is_current(snapshot, plan.texts):
            continue
        session.obstacles.tell(plan.problems, lambda: _insert(session, wanted))
        if not found.key:
            return {"applied": False}
        if work is not None and adds_entry(plan):
            learned.append(session.picker_history.taken(snapshot.state.project.root.parent, work))
        answer = await _applied(session, plan.edits, dict(plan.texts), found.key)
        if answer["applied"]:
            end = _after(plan, snapshot.document, snapshot.index.encoding, found.end)
            answer["end"] = {"line": end.line, "character": end.character}
        return answer
    raise CitewellError(_not_open())


async def _insert_into_bib(
    session: Session, uri: str, work: Work, learned: list[Feedback]
) -> dict[str, Any]:
    """The entry alone, in the .bib that the author looks at."""
    from citewell.features.citing.insert import plan_entry

    for _ in range(citing.RETRIES):
        opened = await session.projects.bib(uri)
        path = session.buffers.path_of(uri)
        if opened is None or path is None:
            break
        bib = opened[0]
        options = session.buffers.options_for(path)
        plan = await session.projects.read(partial(plan_entry, path, bib, work, options))
        document = session.buffers.open_document(path)
        if document is None or document.source != bib.text:
            continue
        if plan.edits:
            learned.append(session.picker_history.taken(path.parent, work))
        return await _applied(session, plan.edits, {path: bib.text}, plan.key)
    raise CitewellError(_not_open())


async def _applied(
    session: Session, edits: Any, texts: dict[Path, str], key: str
) -> dict[str, Any]:
    if not key:
        return {"applied": False}
    done = not edits or await session.applier.apply(edits, texts, f"Cite {key}")
    return {"applied": done, "key": key}


def _span(wanted: InsertPaperArguments, index: LineIndex, document: Document) -> Span:
    """The place as offsets; the end of the text where none was given."""
    if wanted.range is not None:
        start = index.offset(_position(wanted.range.start))
        end = index.offset(_position(wanted.range.end))
        return Span(min(start, end), max(start, end))
    if wanted.position is not None:
        at = index.offset(_position(wanted.position))
        return Span(at, at)
    end = len(document.text.rstrip())
    return Span(end, end)


def _after(plan: ActionPlan, document: Document, encoding: str, offset: int) -> types.Position:
    """A position in the document once the edits of the plan are made."""
    from citewell.documents import apply_edits

    text = document.text
    for edit in plan.edits:
        if Path(edit.path) == Path(document.path):
            text = apply_edits(text, edit.edits)
    return LineIndex.of(text, encoding).position(offset)


def _position(position: Position) -> types.Position:
    return types.Position(max(0, position.line), max(0, position.character))


def _unknown() -> Problem:
    return Problem(
        "work-unknown",
        "The paper was not cited: the library no longer has it.",
        "Search again.",
    )


def _not_open() -> Problem:
    return Problem(
        "document-not-open",
        "The paper was not cited: its document is closed or keeps changing.",
        "Choose the paper again.",
    )
