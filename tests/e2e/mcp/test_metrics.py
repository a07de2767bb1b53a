"""Metrics and the log of requests of a server on HTTP, as agents of both protocols fill them."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import httpx2
import pytest

METRICS = {"CITEWELL_SERVE_METRICS": "true"}
TOKEN = {"Authorization": "Bearer a-token"}
STREAM = TOKEN | {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def shown(url: str, **how: Any) -> httpx2.Response:
    """The answer of `/metrics` beside the address for agents."""
    address = url.removesuffix("/mcp") + "/metrics"
    return httpx2.get(address, **{"headers": TOKEN, "timeout": 120} | how)


def value(text: str, name: str) -> float:
    """The sum of the values of a metric whose line begins with `name`."""
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def shown_with(url: str, name: str, number: float) -> str:
    """The metrics as soon as one has that value: an answer is counted after its last event, which
    an agent does not wait for."""
    limit = time.monotonic() + 60
    while value(text := shown(url).text, name) != number:
        assert time.monotonic() < limit, text
    return text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_metrics_count_calls_by_tool_and_never_name_what_an_agent_wrote(
    env: dict[str, str], serving: Any, over_http: Any, structured: Any, mode: str
) -> None:
    with serving(env | METRICS) as (url, _):
        async with over_http(url, mode=mode) as session:
            for _ in range(3):
                await structured(session, "search_papers", query="graph attention networks", k=1)
            assert (await session.call_tool("search_papers", {"attention": 1})).is_error
            await structured(session, "get_papers", ids=["fx:1"])
            for unknown in ("attention_tool", "mcp"):
                assert (await session.call_tool(unknown, {})).is_error
        shown_with(url, 'citewell_request_seconds_count{endpoint="get_papers"}', 1)
        counted = 'citewell_requests_total{endpoint="search_papers",method="POST",status="200"}'
        text = shown_with(url, counted, 4)
    assert value(text, 'citewell_request_seconds_count{endpoint="search_papers"}') == 4
    assert value(text, 'citewell_stage_seconds_count{stage="total"}') == 3
    assert value(text, 'citewell_engine_calls_total{call="find",outcome="ok"}') == 3
    assert value(text, 'citewell_requests_total{endpoint="mcp"') >= 2
    labels = set(re.findall(r'endpoint="([^"]*)"', text))
    assert labels - {"stream"} == {"search_papers", "get_papers", "mcp", "none"}
    assert "attention" not in text


def test_the_stream_of_an_agent_spoils_no_time_and_is_no_request_in_flight(
    env: dict[str, str], serving: Any
) -> None:
    with serving(env | METRICS) as (url, _):
        begun = httpx2.post(url, json=INITIALIZE, headers=STREAM, timeout=120)
        session = STREAM | {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
        with httpx2.stream("GET", url, headers=session, timeout=120) as stream:
            assert stream.status_code == 200
            shown_with(url, "citewell_requests_in_flight", 1)  # the one that asks
        text = shown_with(url, 'citewell_request_seconds_count{endpoint="stream"}', 1)
    assert value(text, 'citewell_requests_total{endpoint="mcp",method="GET"') == 0


def test_metrics_are_off_by_default_and_ask_for_the_token(
    env: dict[str, str], serving: Any
) -> None:
    with serving(env) as (url, _):
        assert shown(url).status_code == 404
    with serving(env | METRICS) as (url, _):
        assert shown(url, headers={}).status_code == 401
        assert shown(url, headers=TOKEN | {"Host": "evil.example"}).status_code == 421
        found = shown(url)
    assert found.headers["content-type"].startswith("text/plain; version=")
    assert value(found.text, "citewell_requests_total") == 2


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_log_has_a_line_of_json_for_each_request_without_its_content(
    env: dict[str, str], serving: Any, over_http: Any, structured: Any, mode: str
) -> None:
    written: list[str] = []
    settings = {"CITEWELL_SERVE_LOG_FORMAT": "json"}
    with serving(env | settings, log=written) as (url, _):
        async with over_http(url, mode=mode) as session:
            for _ in range(2):
                await structured(session, "search_papers", query="attention", k=1)
            for wrong in ("attention_tool", "get_papers"):
                assert (await session.call_tool(wrong, {"attention": ["attention"]})).is_error
    lines = [json.loads(line) for line in written]
    assert [line["url"] for line in lines if "url" in line] == [url]
    requests = [line for line in lines if line["logger"] == "citewell.requests"]
    searches = [line for line in requests if line["endpoint"] == "search_papers"]
    assert [(line["method"], line["status"]) for line in searches] == [("POST", 200)] * 2
    assert all(line["milliseconds"] > 0 for line in searches)
    assert {line["endpoint"] for line in requests} - {"stream"} == {
        "search_papers", "get_papers", "mcp",
    }  # fmt: skip
    assert not re.search("attention|127.0.0.1|a-token", json.dumps(requests))
    assert "attention" not in "".join(written)
