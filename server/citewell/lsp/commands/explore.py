"""workspace/executeCommand for a literature search in passes, whose papers an editor lists.

`citewell.explore` is a pure question and may be cancelled at any time. Each pass adds papers below
those that are listed already, so that what the author reads stays where it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from citewell.lsp.commands.picker import Picker, problems_of, understood_of
from citewell.lsp.commands.picker_arguments import Position, Range, range_of
from citewell.lsp.protocol.arguments import arguments_of
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import Report, with_progress
from citewell.lsp.registration.registry import Command, Handlers
from citewell.model import CitewellError
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.features.citing.complete import FindWork, NewKey
    from citewell.usecases.explore.contract import Exploration, Explored, ExploreRequest

EXPLORE = "citewell.explore"
EXPLORED = "citewell/explored"
"""The notification of a pass."""
MAX_WHY = 200
"""Characters of the reasons of one paper."""


class ExploreArguments(msgspec.Struct, frozen=True):
    """A question to the literature."""

    query: str = ""
    """The question; empty: the words of `range`, or the paragraph at `position`."""
    uri: str = ""
    """URI of the document that the author is writing."""
    position: Position | None = None
    range: Range | None = None
    """The selection."""
    kept: Annotated[tuple[str, ...], Meta(max_length=200)] = ()
    """Ids of papers that answer the question."""
    rejected: Annotated[tuple[str, ...], Meta(max_length=200)] = ()
    """Ids of papers that do not."""
    limit: Annotated[int, Meta(ge=1, le=400)] = 50
    """Papers in the list of each pass."""
    token: str = ""
    """Name of the search in the notifications of its passes; empty: none is sent, and the editor
    shows the progress."""


def handlers(editor: Editor, explorer: Explorer) -> Handlers:
    """The command that searches the literature."""

    async def explore(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, EXPLORE, arguments, ExploreArguments)
        if wanted is None:
            return {"rows": [], "problems": []}
        await editor.configured()
        if wanted.token:
            return await explorer.explore(wanted, lambda message: None)
        title = "searching the literature"
        found = await with_progress(editor, title, lambda report: explorer.explore(wanted, report))
        return found or {"rows": [], "problems": []}

    return (Command(EXPLORE, explore),)


class Explorer(Struct, frozen=True, eq=False):
    """Searches the literature for an author who writes. For the event loop."""

    editor: Editor
    picker: Picker

    async def explore(self, wanted: ExploreArguments, report: Report) -> dict[str, Any]:
        """All rows in the order in which they were listed, with what was asked and understood, the
        passes, and the problems."""
        from citewell.usecases.explore.contract import ExploreRequest

        snapshot = await self.picker.projects.snapshot(wanted.uri) if wanted.uri else None
        _, find_work, new_key = await self.picker.own_entries(snapshot, wanted.uri)
        query = wanted.query
        if not query.strip() and snapshot is not None:
            from citewell.documents.passage import passage_text

            span = range_of(wanted.range, wanted.position, snapshot.index)
            query = await self.picker.projects.read(lambda: passage_text(snapshot.document, span))
        query = " ".join(query.split())
        sources = self.picker.buffers.workspace_options().sources
        request = ExploreRequest(
            text=query,
            kept=wanted.kept,
            rejected=wanted.rejected,
            count=wanted.limit,
            online=bool(sources.allow) and sources.search,
        )
        answer: dict[str, Any] = {"query": query, "rows": [], "passes": [], "problems": []}
        listed: set[str] = set()
        try:
            async for found in self._passes(request):
                new = [one for one in found.papers if listed.isdisjoint(_ids(one))]
                listed.update(name for one in new for name in _ids(one))
                read = partial(_rows, new, find_work, new_key)
                rows = await self.picker.projects.read(read)
                part = _part(query, found, rows)
                answer |= {**part, "rows": [*answer["rows"], *rows]}
                report(f"{found.passes[-1].name}: {len(answer['rows'])} papers")
                if wanted.token:
                    self.editor.notify(EXPLORED, {"token": wanted.token, **part})
        except CitewellError as error:
            answer["problems"] = problems_of([error.problem])
        return answer

    async def _passes(self, request: ExploreRequest) -> AsyncIterator[Exploration]:
        """The list after each pass; cancelling the task ends the search. Raises `CitewellError`."""
        from citewell.usecases.explore.passes import explore

        cancel = Cancel()
        try:
            passes = await asyncio.to_thread(explore, self.picker.engine, request, cancel=cancel)
            while (found := await asyncio.to_thread(next, passes, None)) is not None:
                yield found
        except asyncio.CancelledError:
            cancel.set()
            raise


def _part(query: str, found: Exploration, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The state after a pass, with the rows that the pass added."""
    return {
        "query": query,
        "passes": msgspec.to_builtins(found.passes),
        "rows": rows,
        "understood": understood_of(query, found.understood.parts),
        "problems": problems_of(found.problems),
        "ending": found.ending,
    }


def _ids(paper: Explored) -> list[str]:
    return [work.id for work in (paper.work, *paper.editions)]


def _rows(papers: list[Explored], find_work: FindWork, new_key: NewKey) -> list[dict[str, Any]]:
    from citewell.features.citing.picker_rows import work_row
    from citewell.model.shorten import shorten
    from citewell.usecases.explore.export import reasons_text

    rows = []
    for one in papers:
        known = find_work(one.work)
        key = known[1].key if known is not None else new_key(one.work)
        row = work_row(one.work, key, known[0] if known is not None else "")
        why = shorten(reasons_text(one), MAX_WHY)
        rows.append({**msgspec.to_builtins(row), "why": why})
    return rows
