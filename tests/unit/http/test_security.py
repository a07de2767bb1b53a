"""Who is let in: tokens, names, web pages."""

from __future__ import annotations

from typing import Any

import pytest

from citewell.engine.local import LocalEngine
from citewell.options import Options

TOKEN = "a-token"
PAGE = "http://localhost:3000"


@pytest.fixture
def locked(paper_options: Options, paper_engine: LocalEngine, client_of: Any) -> Any:
    """A client of a server with a token that a page may ask."""
    return client_of(
        paper_options, paper_engine, token=TOKEN, origins=(PAGE,), hosts=("my.name:80",)
    )


ADMITTED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("path", ["/v1/health", "/v1/status", "/openapi.json", "/problems/x", "/"])
@pytest.mark.parametrize("given", ["", "Bearer another", "Bearer a-token-and-more", "a-token"])
def test_without_the_token_nothing_is_told(
    locked: Any, problem: Any, path: str, given: str
) -> None:
    found = locked.get(path, headers={"Authorization": given} if given else {})
    assert problem(found) == (401, "token-missing")
    assert found.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:7413"}, 200),
        ({"Host": "[::1]:7413"}, 200),
        ({"Host": "my.name:80"}, 200),
        ({"Host": "127.0.0.1:7414"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "evil.example:7413"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": PAGE}, 200),
        ({"Origin": "http://127.0.0.1:7413"}, 200),
        ({"Origin": "http://localhost:3001"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": PAGE}, 200),
    ],
)
def test_only_this_servers_names_and_the_pages_that_were_named_are_answered(
    locked: Any, headers: dict[str, str], status: int
) -> None:
    assert locked.get("/v1/health", headers=ADMITTED | headers).status_code == status


def test_a_page_that_was_named_may_ask_and_read(locked: Any) -> None:
    wanted = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    before = locked.options("/v1/find", headers=wanted)
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == PAGE
    found = locked.get("/v1/health", headers=ADMITTED | {"Origin": PAGE})
    assert found.headers["access-control-allow-origin"] == PAGE
    foreign = locked.options("/v1/find", headers=wanted | {"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert "access-control-allow-origin" not in foreign.headers


def test_without_a_named_page_there_is_no_word_of_cors(client: Any) -> None:
    own = {"Origin": "http://127.0.0.1:7413"}
    assert client.get("/v1/health", headers=own).status_code == 200
    for found in (client.get("/v1/health", headers=own), client.options("/v1/find", headers=own)):
        assert not [name for name in found.headers if name.startswith("access-control")]
