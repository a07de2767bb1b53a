"""What the server asks the client: in which folders it works, and whether its user wants a change.

Clients of 2026-07-28 get the questions of a call as its result, and make the call again with their
answers; older ones are asked while the call waits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
)
from mcp_types.version import is_version_at_least

from citewell.mcp.roots import Roots
from citewell.usecases.find import digest

FOLDERS = "folders"
CHANGE = "change"
"""Names of the two questions."""
REPEATED_CALLS = "2026-07-28"
"""The version of the protocol from which a call is made again with the answers."""
FOLDER_SECONDS = 5.0
"""How long a client may take to name its folders."""
MAX_FOLDERS = 50
MAX_DIFF = 4_000
"""Characters of a diff that the user is shown."""
FOLDER_QUESTION = ListRootsRequest()


def has_folders(ctx: Context) -> bool:
    """Whether the client names the folders in which it works."""
    able = ctx.client_capabilities
    return able is not None and able.roots is not None


def can_confirm(ctx: Context) -> bool:
    """Whether the client can ask its user."""
    able = ctx.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return able.elicitation.form is not None or able.elicitation.url is None


async def client_roots(ctx: Context, roots: Roots) -> Roots | InputRequiredResult:
    """The readable folders that are the client's, too; all of them where it has none of these. Or
    the question that the client is to answer."""
    try:
        with anyio.move_on_after(FOLDER_SECONDS):
            found = await _answer(ctx, {FOLDERS: FOLDER_QUESTION}, FOLDERS, ListRootsResult)
            if isinstance(found, InputRequiredResult):
                return found
            return roots.within([_path(f"{one.uri}") for one in found.roots[:MAX_FOLDERS]])
    except MCPError:  # it says that it can, and cannot
        pass
    return roots


async def confirmed(ctx: Context, message: str) -> bool | InputRequiredResult:
    """Whether the user wants a change; or the question. An answer to another one counts for
    nothing: what is to be written may have changed in between."""
    params = ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {}}
    )
    state = digest(message)
    # A client that is asked again sends the answers to the last questions alone.
    questions: dict[str, InputRequest] = {CHANGE: ElicitRequest(params=params)}
    if has_folders(ctx):
        questions[FOLDERS] = FOLDER_QUESTION
    try:
        found = await _answer(ctx, questions, CHANGE, ElicitResult, state)
    except MCPError:
        return False
    if isinstance(found, InputRequiredResult):
        return found
    return bool(found.action == "accept")


def question(tool: str, shown: Mapping[str, Any], path: str) -> str:
    """What the user is asked before a tool writes, with what it would change."""
    change = f"{shown.get('diff') or shown.get('size', '')}"
    if len(change) > MAX_DIFF:
        change = f"{change[:MAX_DIFF]}\n... ({len(change) - MAX_DIFF:,} more characters)"
    what = {
        "fill_document": f"Fill the placeholders of {path}, and add their entries?",
        "check_references": f"Change entries of {path}?",
        "fetch_papers": "Fetch these papers into the library?",
    }.get(tool, f"Add to {path}?")
    return f"{what}\n\n{change}"


async def _answer(
    ctx: Context,
    questions: dict[str, InputRequest],
    name: str,
    kind: type[Any],
    state: str = "",
) -> Any:
    """The client's answer to the question of a name, or the result that asks all of them."""
    if ctx.protocol_version is None or not is_version_at_least(
        ctx.protocol_version, REPEATED_CALLS
    ):
        return await ctx.session.send_request(
            questions[name],
            kind,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    given = (ctx.input_responses or {}).get(name)
    if isinstance(given, kind) and (not state or ctx.request_state == state):
        return given
    return InputRequiredResult(input_requests=questions, request_state=state or None)


def _path(uri: str) -> Path:
    """The path of a `file:` address."""
    return Path(os.path.realpath(url2pathname(urlparse(uri).path)))
