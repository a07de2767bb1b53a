"""workspace/executeCommand for a literature search in passes, whose papers an editor lists.

`citewell.explore` and `citewell.overview` are pure questions and may be cancelled at any time. Each
pass adds papers below those already listed, so that the visible rows stay in place; keeping or
rejecting papers makes a new list.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from citewell.lsp.commands.picker import CitationPicker, problems_of, range_of, understood_of
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.progress import Report, step_on_thread, with_progress
from citewell.lsp.protocol.wire import Position, Range
from citewell.lsp.registry import Command, Handlers
from citewell.model import CitewellError
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten

if TYPE_CHECKING:
    from citewell.features.citing.complete import FindWork, NewKey
    from citewell.model import Work
    from citewell.model.llm import Overview
    from citewell.usecases.explore.contract import Exploration, ExploredWork, ExploreQuery

EXPLORE = "citewell.explore"
EXPLORED = "citewell/explored"
"""The notification of a pass."""
OVERVIEW = "citewell.overview"
MAX_WHY = 200
"""Maximum characters of the reasons for one paper."""


class ExploreArguments(msgspec.Struct, frozen=True):
    """A question for a literature search."""

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
    """Number of papers in the list of each pass."""
    token: str = ""
    """Name of the search in the notifications of its passes; empty: none are sent, and the editor
    shows the progress."""


class OverviewArguments(msgspec.Struct, frozen=True):
    """A list of papers for an overview."""

    ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=400)]
    """Ids of the papers, best first."""
    query: str = ""
    """The question that they answer, for the language model."""


def handlers(editor: Editor, explorer: Explorer) -> Handlers:
    """The commands for a literature search and an overview."""

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

    async def overview(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, OVERVIEW, arguments, OverviewArguments)
        if wanted is None:
            return {"text": "", "themes": [], "problems": []}
        await editor.configured()
        return await explorer.overview(wanted)

    return (Command(EXPLORE, explore), Command(OVERVIEW, overview))


class Explorer(Struct, frozen=True, eq=False):
    """Searches the literature for an author. For the event loop."""

    editor: Editor
    picker: CitationPicker

    async def explore(self, wanted: ExploreArguments, report: Report) -> dict[str, Any]:
        """All rows in the order of listing, judged by all passes, with the question, its
        interpretation, the passes, and the problems."""
        from citewell.usecases.explore.contract import ExploreQuery

        snapshot = await self.picker.projects.snapshot(wanted.uri) if wanted.uri else None
        _, find_work, new_key = await self.picker.own_entries(snapshot, wanted.uri)
        query = wanted.query
        if not query.strip() and snapshot is not None:
            from citewell.documents.context import passage_text

            span = range_of(wanted.range, wanted.position, snapshot.index)
            query = await self.picker.projects.read(lambda: passage_text(snapshot.document, span))
        query = " ".join(query.split())
        sources = self.picker.buffers.workspace_options().sources
        request = ExploreQuery(
            rounds=1,
            text=query,
            kept=wanted.kept,
            rejected=wanted.rejected,
            count=wanted.limit,
            online=bool(sources.allow) and sources.search,
        )
        answer: dict[str, Any] = {"query": query, "rows": [], "passes": [], "problems": []}
        listed: dict[str, dict[str, Any]] = {}
        try:
            async for found in self._passes(request):
                new = [one for one in found.papers if listed.keys().isdisjoint(_ids(one))]
                rows = await self.picker.projects.read(partial(_rows, new, find_work, new_key))
                for one, row in zip(new, rows, strict=True):
                    listed |= dict.fromkeys(_ids(one), row)
                _judge(found, listed)
                part = _part(query, found, rows)
                answer |= {**part, "rows": [*answer["rows"], *rows]}
                report(f"{found.passes[-1].name}: {len(answer['rows'])} papers")
                if wanted.token:
                    self.editor.notify(EXPLORED, {"token": wanted.token, **part})
        except CitewellError as error:
            answer["problems"] = problems_of([error.problem])
        return answer

    async def overview(self, wanted: OverviewArguments) -> dict[str, Any]:
        """An overview of the papers, as data and as text, and the problems."""
        from citewell.usecases.explore.contract import overview_text

        try:
            works, found = await step_on_thread(partial(self._summed_up, wanted))
        except CitewellError as error:
            return {"text": "", "themes": [], "problems": problems_of([error.problem])}
        answer: dict[str, Any] = msgspec.to_builtins(found)
        failed = None if found.summary is None else found.summary.problem
        return {
            "themes": [],
            **answer,
            "text": overview_text(found, {work.id: _name(work) for work in works}),
            "problems": problems_of([failed] if failed is not None else []),
        }

    def _summed_up(self, wanted: OverviewArguments, cancel: Cancel) -> tuple[list[Work], Overview]:
        """The known papers, and their overview."""
        from citewell.usecases.explore.passes import PAPERS, overview

        engine = self.picker.engine
        works = [work for work in engine.works(wanted.ids[:PAPERS]) if work is not None]
        query = " ".join(wanted.query.split())
        by_model = engine.status().explores
        return works, overview(engine, works, cancel, question=query, by_model=by_model)

    async def _passes(self, request: ExploreQuery) -> AsyncIterator[Exploration]:
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
    """The state after a pass, with its new rows."""
    return {
        "query": query,
        "passes": msgspec.to_builtins(found.passes),
        "rows": rows,
        "understood": understood_of(query, found.understood.parts),
        "problems": problems_of(found.problems),
        "ending": found.ending,
    }


def _judge(found: Exploration, listed: Mapping[str, dict[str, Any]]) -> None:
    """Write the reasons and the relevance of each listed paper, after all passes so far, into its
    row."""
    from citewell.usecases.explore.contract import reason_text

    for at, one in enumerate(found.papers):
        row = next((listed[name] for name in _ids(one) if name in listed), None)
        if row is not None:
            row["why"] = shorten(reason_text(one), MAX_WHY)
            row["relevance"] = None if one.relevance is None else round(one.relevance, 4)
            row["relevant"] = at < (found.relevant or 0)


def _name(work: Work) -> str:
    """The name of a paper in an overview: "Veličković et al. 2018: Graph Attention Networks"."""
    from citewell.features.citing.complete import work_row

    row = work_row(work, "", "")
    who = " ".join(str(part) for part in (row.authors, row.year) if part)
    return f"{who}: {row.title}" if who else row.title


def _ids(paper: ExploredWork) -> list[str]:
    return [work.id for work in (paper.work, *paper.editions)]


def _rows(papers: list[ExploredWork], find_work: FindWork, new_key: NewKey) -> list[dict[str, Any]]:
    """The rows of papers, without reasons and relevance."""
    from citewell.features.citing.complete import work_row

    rows = []
    for one in papers:
        known = find_work(one.work)
        key = known[1].key if known is not None else new_key(one.work)
        row = work_row(one.work, key, known[0] if known is not None else "")
        rows.append(msgspec.to_builtins(row))
    return rows
