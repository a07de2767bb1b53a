"""The tool that searches the literature in passes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.features.text.evidence import understood_text
from citewell.features.text.overview import overview_text
from citewell.mcp.papers import Ref, paper_of, tokens_of, within
from citewell.mcp.tool_context import ToolContext, answer, notes_of, progress_of
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten
from citewell.usecases.explore.contract import (
    MAX_COUNT,
    MAX_TEXT,
    Exploration,
    ExploredWork,
    ExploreQuery,
)
from citewell.usecases.explore.export import reason_text
from citewell.usecases.explore.passes import explore
from citewell.usecases.find import Progress

MAX_WHY = 200
"""Characters of the reasons of one paper."""
Ids = Annotated[list[str], Field(max_length=200)]
Size = Annotated[int, Field(ge=1, le=MAX_COUNT)]


class ListedRef(Ref):
    """A record on the list, with `why` it is there."""

    title: str


class Literature(TypedDict):
    """Papers on a question."""

    status: Literal["found", "nothing_found"]
    papers: list[ListedRef]
    overview: NotRequired[str]
    notes: NotRequired[str]


class ExploringTools:
    """The method is a tool; its docstring is what a model reads."""

    def __init__(self, tools: ToolContext) -> None:
        self._tools = tools

    async def explore_papers(
        self,
        ctx: Context,
        query: Annotated[str, Field(max_length=MAX_TEXT)] = "",
        kept: Ids = [],  # noqa: B006 - read, never changed
        rejected: Ids = [],  # noqa: B006
        k: Size = 20,
        overview: bool = False,
        max_tokens: int = 4000,
    ) -> Annotated[CallToolResult, Literature]:
        """Search the literature in passes. `kept`, `rejected`: ids you judged."""
        sources = self._tools.options.sources
        request = ExploreQuery(
            rounds=1,
            text=query,
            kept=tuple(kept),
            rejected=tuple(rejected),
            count=k,
            online=bool(sources.allow) and sources.search,
            overview=overview,
        )
        progress = progress_of(ctx)
        found = await self._tools.run(
            lambda cancel: self._explored(request, progress, cancel), "passage"
        )
        return answer(_literature(found, max_tokens))

    def _explored(self, request: ExploreQuery, progress: Progress, cancel: Cancel) -> Exploration:
        found = Exploration()
        for number, found in enumerate(explore(self._tools.engine, request, cancel=cancel), 1):
            progress(f"{found.passes[-1].name}: {len(found.papers)} papers", number, number + 1)
        return found


def _literature(found: Exploration, budget: int) -> Literature:
    papers: list[ListedRef] = [_paper(one) for one in found.papers]
    about = "" if found.overview is None else overview_text(found.overview)
    kept = within(papers, budget - (tokens_of(about) if about else 0))
    page: Literature = {
        "status": "found" if papers else "nothing_found",
        "papers": papers[:kept],
    }
    if found.relevant is not None:
        # Not in the schema, which every conversation pays for.
        page["relevant"] = found.relevant  # type: ignore[typeddict-unknown-key]
    if about:
        page["overview"] = about
    notes = notes_of(found.problems)
    if found.understood.parts:
        notes.append(f"Understood: {understood_text(found.understood)}")
    if kept < len(papers):
        notes.append(f"{len(papers) - kept} more papers: raise max_tokens.")
    if notes:
        page["notes"] = "\n".join(notes)
    return page


def _paper(one: ExploredWork) -> ListedRef:
    """The record in short, with its relevance where it is judged; a list of reasons can be long."""
    found: dict[str, Any] = {**paper_of(one.work), "why": shorten(reason_text(one), MAX_WHY)}
    if one.relevance is not None:
        found["relevance"] = round(one.relevance, 2)
    return found  # type: ignore[return-value]
