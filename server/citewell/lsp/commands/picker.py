"""workspace/executeCommand for a picker of papers: search while typing, and cite the choice.

`citewell.search` only reads and may be cancelled at any time. `citewell.insertPaper` writes the
citation and its entry through the editor, in one undoable step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from lsprotocol import types
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edit_applier import EditApplier
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.protocol.progress import Obstacles
from citewell.lsp.protocol.wire import Position, Range
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import RETRIES, EditQueue, PickerHistory, replanned
from citewell.model import CitewellError, CitingPaper, Problem, SearchResult, Work
from citewell.model.document import Document, Span

if TYPE_CHECKING:
    from citewell.documents.keys.index import KeyIndex
    from citewell.engine.contract import Tier
    from citewell.features.action import ActionPlan
    from citewell.features.actions.placeholder import PaperToCite
    from citewell.features.citing.complete import FindWork, NewKey, PaperRow
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.model.feedback import Feedback
    from citewell.model.query import QueryPart

# The picker's requests: the search, and the choice for a place.

MOST_PAPERS = 50
"""Maximum number of papers in one citation."""


class PaperChoice(msgspec.Struct, frozen=True):
    """One of several chosen papers."""

    work: str = ""
    """Id of a paper; empty for an existing entry."""
    key: str = ""
    """Key of that entry; not needed with `work`."""


Choices = Annotated[tuple[PaperChoice, ...], msgspec.Meta(max_length=MOST_PAPERS)]


class SearchArguments(msgspec.Struct, frozen=True):
    """A search request of a picker."""

    query: str = ""
    uri: str = ""
    """URI of the document being written; empty: the paper is unknown."""
    position: Position | None = None
    """Place of the citation; its sentence then also counts."""
    limit: int = 20
    deep: bool = False
    """Search longer, with the cross-encoder if one is set; not for use while the author types."""
    chosen: Choices = ()
    """The papers already chosen for the citation: the list contains papers cited beside them."""


class InsertPaperArguments(msgspec.Struct, frozen=True, rename="camel"):
    """The chosen papers, and their place."""

    uri: str
    work: str = ""
    """Id of a paper; empty for an existing entry."""
    key: str = ""
    """Key of that entry; not needed with `work`."""
    papers: Choices = ()
    """Several papers, which become one citation, in place of `work` and `key`."""
    position: Position | None = None
    range: Range | None = None
    """The text that the citation replaces; takes precedence over `position`."""
    bib_only: bool = False
    """Add the entry and cite nothing."""

    @property
    def chosen(self) -> tuple[PaperChoice, ...]:
        """The papers, one or several."""
        return self.papers or (PaperChoice(self.work, self.key),)


def span_of(wanted: InsertPaperArguments, index: LineIndex, document: Document) -> Span:
    """The place as offsets; the end of the text if none is given."""
    if wanted.range is None and wanted.position is None:
        end = len(document.text.rstrip())
        return Span(end, end)
    return range_of(wanted.range, wanted.position, index)


def range_of(range: Range | None, position: Position | None, index: LineIndex) -> Span:
    """A range, or else a position, as offsets; the start of the text without either."""
    if range is not None:
        start = index.offset(position_of(range.start))
        end = index.offset(position_of(range.end))
        return Span(min(start, end), max(start, end))
    at = 0 if position is None else index.offset(position_of(position))
    return Span(at, at)


def position_of(position: Position) -> types.Position:
    """The position in the protocol's type."""
    return types.Position(max(0, position.line), max(0, position.character))


logger = logging.getLogger(__name__)

SEARCH = "citewell.search"
INSERT_PAPER = "citewell.insertPaper"
MOST_ROWS = 100


def handlers(editor: Editor, picker: CitationPicker) -> Handlers:
    """The two commands of a picker."""

    async def search(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, SEARCH, arguments, SearchArguments)
        if wanted is None:
            return {"rows": [], "problems": []}
        await editor.configured()
        return await picker.search(wanted)

    async def insert_paper(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, INSERT_PAPER, arguments, InsertPaperArguments)
        if wanted is None:
            return {"applied": False}
        await editor.configured()
        # A cancelled command must not leave a citation without its entry.
        return await asyncio.shield(picker.insert(wanted))

    return (Command(SEARCH, search), Command(INSERT_PAPER, insert_paper))


class CitationPicker(Struct, frozen=True, eq=False):
    """Searches while an author types, and cites the choice. For the event loop."""

    buffers: Buffers
    projects: Projects
    checks: ReferenceChecks
    engine: WorkerEngine
    applier: EditApplier
    edits: EditQueue
    citing: CitationService
    history: PickerHistory
    obstacles: Obstacles

    async def search(self, wanted: SearchArguments) -> dict[str, Any]:
        """The rows of a picker, and the problems of the search."""
        from citewell.features.citing.complete import (
            asks_nothing,
            paper_rows,
            references_of,
            search_query,
        )
        from citewell.features.citing.completion import unknown

        limit = max(1, min(wanted.limit, MOST_ROWS))
        snapshot = await self.projects.snapshot(wanted.uri) if wanted.uri else None
        index, find_work, new_key = await self.own_entries(snapshot, wanted.uri)
        ids = [one.work for one in wanted.chosen if one.work]
        works = [work for one in ids if (work := await self.citing.find_work(one)) is not None]
        keys = [one.key for one in wanted.chosen if not one.work]

        def ask() -> Any:
            document, offset, paper = None, None, CitingPaper()
            if snapshot is not None:
                document, paper = snapshot.document, snapshot.state.citing
                if wanted.position is not None:
                    offset = snapshot.index.offset(position_of(wanted.position))
            chosen = references_of(works, keys, index())
            return search_query(document, offset, wanted.query, paper, chosen)

        query = await self.projects.read(ask)
        result = SearchResult()
        if not asks_nothing(query):
            tier: Tier = "full" if wanted.deep else "fast"
            result = await self.engine.find_async(query, limit, tier=tier)

        def rows() -> list[PaperRow]:
            entries = index()
            return paper_rows(
                query.text,
                result.hits,
                index=entries,
                find_work=find_work,
                new_key=new_key,
                check_of=unknown if entries is None else self.checks.answers.find_check(entries),
                limit=limit,
            )

        found = await self.projects.read(rows)
        self.history.add(query, result.variant, found)
        problems = result.problems if result.hits else (*result.problems, *result.dropped)
        answer = {"rows": msgspec.to_builtins(found), "problems": problems_of(problems)}
        if result.understood.parts:
            answer["understood"] = understood_of(query.text, result.understood.parts)
        return answer

    async def own_entries(
        self, snapshot: Snapshot | None, uri: str
    ) -> tuple[Callable[[], KeyIndex | None], FindWork, NewKey]:
        """Functions for the author's own entries in the document: their index (None if there is
        none), the entry of a work, and the key of a new entry. For the reader thread."""
        if snapshot is not None:
            state = snapshot.state
            return lambda: state.index, state.find_work, state.new_key
        from citewell.documents.keys.pattern import make_key

        options = self.buffers.options_of(uri)
        opened = await self.projects.bib(uri) if uri else None
        if opened is None:
            return (
                lambda: None,
                lambda work: None,
                lambda work: make_key(work, options.bib.key_pattern, frozenset()),
            )
        from citewell.features.citing.known_works import KnownWorks

        bib = opened[0]
        taken = frozenset(bib.by_key) | frozenset(key.lower() for key in bib.by_key)
        known = await self.projects.read(lambda: KnownWorks([bib]))
        return (
            lambda: None,
            known.find,
            lambda work: make_key(work, options.bib.key_pattern, taken),
        )

    async def insert(self, wanted: InsertPaperArguments) -> dict[str, Any]:
        """Cite the papers; return whether that succeeded, the keys, and the end of the citation."""
        several = len(wanted.chosen) > 1

        def failed(error: Exception) -> Problem:
            message = f"The {'papers' if several else 'paper'} could not be cited: {error}."
            hint = f"Nothing was changed. Choose {'them' if several else 'it'} again."
            return Problem("insert-failed", message, hint)

        async def edit(learned: list[Feedback]) -> dict[str, Any]:
            return await replanned(lambda: self._insert_now(wanted, learned), learned)

        return await self.edits.run(edit, failed)

    async def _insert_now(
        self, wanted: InsertPaperArguments, learned: list[Feedback]
    ) -> dict[str, Any]:
        from citewell.features.actions.placeholder import PaperToCite

        chosen: list[PaperToCite] = []
        for one in wanted.chosen:
            work: Work | None = None
            if one.work:
                work = await self.citing.find_work(one.work)
                if work is None:
                    raise CitewellError(_unknown())
            elif not one.key or wanted.bib_only:
                missing = "`work`" if wanted.bib_only else "`work` or `key`"
                message = f"Invalid arguments for `{INSERT_PAPER}`: {missing} is missing."
                raise CitewellError(Problem("command-arguments", message))
            chosen.append(PaperToCite(work, one.key))
        works = [one.work for one in chosen if one.work is not None]
        opened = await self.projects.bib(wanted.uri)
        if opened is not None:
            if len(works) < len(chosen):
                raise CitewellError(_unknown())
            return await self._insert_into_bib(wanted.uri, works, learned)
        if wanted.bib_only:
            return await self._enter(wanted, works, learned)
        return await self._cite(wanted, chosen, learned)

    async def _enter(
        self, wanted: InsertPaperArguments, works: list[Work], learned: list[Feedback]
    ) -> dict[str, Any]:
        """Add the entry alone, to the .bib of the document's paper."""
        if len(works) > 1:
            message = f"Invalid arguments for `{INSERT_PAPER}`: `bibOnly` takes one paper."
            raise CitewellError(Problem("command-arguments", message))
        insertion = await self.citing.plan_insertion(wanted.uri, works[0], wanted.chosen[0].key)
        if insertion is None:
            raise CitewellError(_not_open())
        self.obstacles.show(insertion.problems, lambda: self.insert(wanted))
        if insertion.edits:
            folder = insertion.snapshot.state.project.root.parent
            learned.append(self.history.taken(folder, works[0]))
        keys = (insertion.key,) if insertion.key else ()
        return await self._applied(insertion.edits, insertion.texts, keys)

    async def _cite(
        self, wanted: InsertPaperArguments, chosen: list[PaperToCite], learned: list[Feedback]
    ) -> dict[str, Any]:
        from citewell.features.actions.placeholder import plan_cite

        for _ in range(RETRIES):
            snapshot = await self.projects.snapshot(wanted.uri, fresh=True)
            if snapshot is None:
                break
            found = await self.projects.read(
                partial(
                    plan_cite,
                    snapshot.state.project,
                    snapshot.document,
                    span_of(wanted, snapshot.index, snapshot.document),
                    snapshot.options,
                    chosen,
                )
            )
            plan: ActionPlan = found.plan
            if not await self.projects.is_current(snapshot, plan.texts):
                continue
            self.obstacles.show(plan.problems, lambda: self.insert(wanted))
            if not found.keys:
                return {"applied": False}
            folder = snapshot.state.project.root.parent
            learned += [self.history.taken(folder, work) for work in found.entered]
            answer = await self._applied(plan.edits, dict(plan.texts), found.keys)
            if answer["applied"]:
                end = _after(plan, snapshot.document, snapshot.index.encoding, found.end)
                answer["end"] = {"line": end.line, "character": end.character}
            return answer
        raise CitewellError(_not_open())

    async def _insert_into_bib(
        self, uri: str, works: list[Work], learned: list[Feedback]
    ) -> dict[str, Any]:
        """Add the entries alone, to the .bib in the editor."""
        from citewell.features.citing.insert import plan_entries

        for _ in range(RETRIES):
            opened = await self.projects.bib(uri)
            path = self.buffers.path_of(uri)
            if opened is None or path is None:
                break
            bib = opened[0]
            options = self.buffers.options_for(path)
            plan, keys = await self.projects.read(partial(plan_entries, path, bib, works, options))
            document = self.buffers.open_document(path)
            if document is None or document.source != bib.text:
                continue
            if plan.edits:
                learned += [self.history.taken(path.parent, work) for work in works]
            return await self._applied(plan.edits, {path: bib.text}, keys)
        raise CitewellError(_not_open())

    async def _applied(
        self, edits: Any, texts: dict[Path, str], keys: Sequence[str]
    ) -> dict[str, Any]:
        if not keys:
            return {"applied": False}
        done = not edits or await self.applier.apply(edits, texts, f"Cite {', '.join(keys)}")
        answer = {"applied": done, "key": keys[0]}
        return answer if len(keys) == 1 else {**answer, "keys": list(keys)}


def problems_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """The problems in the form of an answer."""
    return [{"code": p.code, "message": p.message, "hint": p.hint} for p in problems]


def understood_of(text: str, parts: Sequence[QueryPart]) -> list[dict[str, Any]]:
    """The recognised parts of a text, each with the remaining words without it (`rest`)."""
    found = []
    for part in parts:
        rest = " ".join(f"{text[: part.start]} {text[part.end :]}".split())
        found.append({**msgspec.to_builtins(part), "rest": rest})
    return found


def _after(plan: ActionPlan, document: Document, encoding: str, offset: int) -> types.Position:
    """A position in the document once the edits of the plan are made."""
    from citewell.documents.textfile import apply_edits

    text = document.text
    for edit in plan.edits:
        if Path(edit.path) == Path(document.path):
            text = apply_edits(text, edit.edits)
    return LineIndex(text, encoding).position(offset)


def _unknown() -> Problem:
    return Problem(
        "work-unknown", "The paper was not cited: the library no longer has it.", "Search again."
    )


def _not_open() -> Problem:
    return Problem(
        "document-not-open",
        "The paper was not cited: its document is closed or keeps changing.",
        "Choose the paper again.",
    )
