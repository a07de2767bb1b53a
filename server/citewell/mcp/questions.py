"""Questions of the server to the client: its folders, and the user's confirmation of a change.

Clients of version 2026-07-28 get the questions of a call as its result, and repeat the call with
the answers; older ones are asked while the call waits.
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
"""The first version of the protocol that repeats a call with the answers."""
FOLDER_SECONDS = 5.0
"""Seconds that a client has to name its folders."""
MAX_FOLDERS = 50
MAX_DIFF = 4_000
"""Maximum characters of a diff shown to the user."""
FOLDER_QUESTION = ListRootsRequest()


def has_folders(ctx: Context) -> bool:
    """Whether the client names its folders."""
    able = ctx.client_capabilities
    return able is not None and able.roots is not None


def can_confirm(ctx: Context) -> bool:
    """Whether the client can ask its user."""
    able = ctx.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return able.elicitation.form is not None or able.elicitation.url is None


async def client_roots(ctx: Context, roots: Roots) -> Roots | InputRequiredResult:
    """The readable folders that are also the client's; all of them if there are none. Or the
    question to the client."""
    try:
        with anyio.move_on_after(FOLDER_SECONDS):
            found = await _answer(ctx, {FOLDERS: FOLDER_QUESTION}, FOLDERS, ListRootsResult)
            if isinstance(found, InputRequiredResult):
                return found
            return roots.within([_path(f"{one.uri}") for one in found.roots[:MAX_FOLDERS]])
    except MCPError:  # it announces the capability, but fails
        pass
    return roots


async def confirmed(ctx: Context, message: str) -> bool | InputRequiredResult:
    """Whether the user confirms a change; or the question. An answer to another one does not count:
    the text to write may have changed in between."""
    params = ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {}}
    )
    state = digest(message)
    # A client that is asked again sends only the answers to the last questions.
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
    """The question to the user before a tool writes, with the change."""
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
    """The client's answer to the question with a name, or the result with all questions."""
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
