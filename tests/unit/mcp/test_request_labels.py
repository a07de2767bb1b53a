"""Under which endpoint a request is counted, which is never what its client wrote."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from citewell.mcp.transport import label_tools, labelled
from citewell.serving.metrics import Metrics
from citewell.serving.observed import observed


@pytest.mark.parametrize(
    ("message", "endpoint"),
    [
        (("tools/call", {"name": "search_papers"}), "search_papers"),
        (("tools/call", {"name": "attention"}), "mcp"),
        (("tools/call", {"name": ["search_papers"]}), "mcp"),
        (("tools/call", None), "mcp"),
        (("prompts/get", {"name": "search_papers"}), "mcp"),
        (("subscriptions/listen", {}), "stream"),
    ],
)
async def test_only_a_tool_of_the_server_has_a_label_of_its_own(
    message: tuple[str, Any], endpoint: str
) -> None:
    assert await counted("/mcp", "POST", message) == {endpoint}


async def test_paths_other_than_that_of_the_protocol_have_no_label() -> None:
    assert await counted("/mcp", "GET") == {"stream"}
    assert await counted("/mcp/attention", "GET") == {"none"}


async def counted(path: str, method: str, message: tuple[str, Any] | None = None) -> set[str]:
    """The endpoints in the metrics after one request, which may hold a message."""
    metrics = Metrics()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if message is not None:
            request = SimpleNamespace(scope=scope)
            context: Any = SimpleNamespace(method=message[0], params=message[1], request=request)
            await label_tools({"search_papers"})(context, next_one)
        await send({"type": "http.response.start", "status": 200})

    async def next_one(context: Any) -> None:
        return None

    async def send(event: Any) -> None:
        assert event["status"] == 200

    scope: Any = {"type": "http", "path": path, "method": method}
    await observed(labelled(app), metrics, logs=False)(scope, None, send)  # type: ignore[arg-type]
    return set(re.findall(r'endpoint="([^"]*)"', metrics.text()))
