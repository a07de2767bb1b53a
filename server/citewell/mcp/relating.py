"""The tool that goes along citations, as far as they are known."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.features.navigation.cursor import digest, from_cursor, to_cursor
from citewell.mcp.papers import NeighbourRef, paper_of, within
from citewell.mcp.tool_context import ToolContext, answer
from citewell.model import CitewellError
from citewell.model.cancel import Cancel
from citewell.model.query import Direction
from citewell.usecases.related import Neighbours, related_works

Count = Annotated[int, Field(ge=1, le=50)]


class Neighbourhood(TypedDict):
    """Papers beside one."""

    status: Literal["found", "nothing_found", "not_known"]
    papers: list[NeighbourRef]
    next_cursor: NotRequired[str]
    notes: NotRequired[str]


class RelatingTools:
    """The method is a tool; its docstring is what a model reads."""

    def __init__(self, tools: ToolContext) -> None:
        self._tools = tools

    async def related_papers(
        self,
        id: str,
        direction: Direction,
        ctx: Context,
        k: Count = 10,
        cursor: str = "",
        max_tokens: int = 4000,
    ) -> Annotated[CallToolResult, Neighbourhood]:
        """Follow citations: what a paper cites, what cites it, or what others cite with it
        (`together`: how many). not_known: none of its citations is."""
        return answer(
            await self._tools.run(
                lambda cancel: self._page(id, direction, k, cursor, max_tokens, cancel)
            )
        )

    def _page(
        self, name: str, direction: Direction, k: int, cursor: str, budget: int, cancel: Cancel
    ) -> Neighbourhood:
        work = self._tools.work(name)
        request = digest(work.id, direction)
        offset = from_cursor(cursor, request)[1] if cursor else 0
        found = related_works(
            self._tools.engine, [work], k, offset=offset, directions=(direction,), cancel=cancel
        )
        if found.problems:
            raise CitewellError(found.problems[0])
        papers: list[NeighbourRef] = []
        for one in found.papers:
            paper = paper_of(one.work)
            if direction == "cocited":
                paper["together"] = one.links[0].together
            papers.append(paper)
        kept = within(papers, budget)
        page: Neighbourhood = {"status": _status(found), "papers": papers[:kept]}
        if kept and found.total > offset + kept:
            page["next_cursor"] = to_cursor(request, offset + kept)
        if not found.unknown:
            page["notes"] = (
                f"{found.total} known papers are in the library, {found.elsewhere} are not. "
                "The list is a sample of all citations."
            )
        return page


def _status(found: Neighbours) -> Literal["found", "nothing_found", "not_known"]:
    if found.unknown:
        return "not_known"
    return "found" if found.total else "nothing_found"
