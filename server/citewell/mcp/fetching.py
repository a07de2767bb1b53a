"""The tool that brings works of a source into the user's library."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from typing_extensions import TypedDict

from citewell.mcp.tool_context import ToolContext, answer, failure, progress_of
from citewell.model.cancel import Cancel
from citewell.usecases.find import Progress
from citewell.usecases.library_fetch import FetchRequest, fetch, measure, request_of


class FetchAnswer(TypedDict):
    """What a fetch would bring, or has brought."""

    size: str
    fetched: int
    papers: NotRequired[int]
    notes: NotRequired[str]


class FetchingTools:
    """Each method is a tool; its docstring is what a model reads."""

    def __init__(self, tools: ToolContext) -> None:
        self._tools = tools

    async def fetch_papers(
        self, request: str, ctx: Context, write: bool = False
    ) -> Annotated[CallToolResult, FetchAnswer]:
        """Add works of a source to the library: "arxiv --category cs.CL --max 500". Without `write`
        it only returns the size: ask the user."""
        run = partial(self._fetch, request, write, progress_of(ctx))
        return answer(await self._tools.run(run, "document"))

    def _fetch(self, words: str, write: bool, progress: Progress, cancel: Cancel) -> FetchAnswer:
        request: FetchRequest = request_of(words)
        options = self._tools.options
        size = measure(options, request, cancel)
        if not write:
            return {"size": size.words, "fetched": 0}
        done = fetch(options, request, progress, cancel)
        found: FetchAnswer = {"size": size.words, "fetched": done.new, "papers": done.works}
        if done.problem is not None:
            found["notes"] = failure(done.problem)
        return found
