"""Log messages to the client: files written, and sources that did not respond.

Clients of version 2026-07-28 request them with each request, which the SDK supports; older ones set
a level for their connection (`logging/setLevel`), which is stored here.
"""

from __future__ import annotations

import warnings
from typing import Any, get_args

from mcp.server import MCPServer, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import EmptyResult, LoggingLevel, SetLevelRequestParams

from citewell.serving.problem_json import without_keys

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From debug to emergency."""
DEFAULT: LoggingLevel = "info"
LOGGER = "citewell"
_LEVEL = "citewell.log-level"


def add_logging(server: MCPServer[Any]) -> None:
    """Let clients of older versions set their log level."""

    async def set_level(
        ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        _state(ctx)[_LEVEL] = params.level
        return EmptyResult()

    # The high-level server has no hook for this request, without which it lacks the capability.
    server._lowlevel_server.add_request_handler(
        "logging/setLevel", SetLevelRequestParams, set_level
    )


async def log_to_client(ctx: Context, level: LoggingLevel, text: str) -> None:
    """Send a line to the client of this request, if requested; never a key."""
    wanted = _state(ctx.request_context).get(_LEVEL, DEFAULT)
    if LEVELS.index(level) < LEVELS.index(wanted):
        return
    with warnings.catch_warnings():
        # Deprecated by the newest specification, but the only way in older ones.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await ctx.log(level, without_keys(text), logger_name=LOGGER)


def _state(ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """The state of a request's connection."""
    state: dict[str, Any] = ctx.session._connection.state
    return state


async def notify_written(ctx: Context, written: bool, path: str) -> None:
    """Log to the client that files have changed."""
    if written:
        await log_to_client(ctx, "notice", f"{path[:200]} and what belongs to it was changed")
