"""A server on HTTP behind a reverse proxy, by the settings that `citewell serve` has for it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer a-token"}


def status(url: str, **headers: str) -> int:
    """The status of the answer to a greeting."""
    return httpx2.post(url, json=INITIALIZE, headers=HEADERS | headers, timeout=120).status_code


@pytest.mark.parametrize(
    ("proxies", "expected"), [("", 429), ("192.0.2.1", 429), ("127.0.0.0/8", 200)]
)
def test_only_a_named_proxy_may_say_who_the_client_is(
    serving: Any, env: dict[str, str], proxies: str, expected: int
) -> None:
    own = {"CITEWELL_SERVE_RATE_LIMIT": "1", "CITEWELL_SERVE_PROXIES": proxies}
    with serving(env | own) as (url, _):
        assert status(url, **{"X-Forwarded-For": "203.0.113.1"}) == 200
        assert status(url, **{"X-Forwarded-For": "203.0.113.2"}) == expected


def test_it_answers_to_the_name_of_its_proxy_with_the_base_path_or_without(
    serving: Any, env: dict[str, str]
) -> None:
    own = {
        "CITEWELL_SERVE_ALLOW_HOSTS": "cite.example.org",
        "CITEWELL_SERVE_BASE_PATH": "/citewell",
        "CITEWELL_SERVE_METRICS": "true",
        "CITEWELL_SERVE_RATE_LIMIT": "3",
    }
    with serving(env | own) as (url, _):
        below = url.removesuffix("/mcp") + "/citewell"
        assert status(f"{below}/mcp", Host="cite.example.org") == 200
        assert status(url, Host="cite.example.org") == 200
        assert status(url, Host="other.example.org") == 421
        for _ in range(2):  # which the limit does not count
            found = httpx2.get(f"{below}/metrics", headers=HEADERS, timeout=120)
            assert found.status_code == 200
        assert 'endpoint="mcp",method="POST",status="200"} 2' in found.text
        assert status(url) == 429
