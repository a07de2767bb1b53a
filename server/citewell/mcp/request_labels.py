"""Under which endpoint a request of an agent is counted: all have the same path.

A call of a tool is counted by the tool's own name, every other message as `mcp`: a name that a
client wrote is no label. An answer that stays open is a stream.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from citewell.serving.observed import STREAM, label_request

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"
MESSAGE: Final = "mcp"


def labelled(app: ASGIApp) -> ASGIApp:
    """The application, with a label for each request of its path. The stream of the older
    protocols is a GET."""

    async def label(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH:
            label_request(scope, STREAM if scope["method"] == "GET" else MESSAGE)
        await app(scope, receive, send)

    return label


def label_tools(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Labels the requests that call one of the tools, and those that open a stream of the newest
    protocol."""

    async def label(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request is not None:  # none on pipes
            name = (ctx.params or {}).get("name")
            if ctx.method == "subscriptions/listen":
                label_request(ctx.request.scope, STREAM)
            elif ctx.method == "tools/call" and isinstance(name, str) and name in tools:
                label_request(ctx.request.scope, name)
        return await call_next(ctx)

    return label
