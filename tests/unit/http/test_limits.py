"""Settings of the server: a limit for each client, a base path, a public demo."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.http import RATE_LIMIT, public_options
from citewell.http.app import create_app
from citewell.http.reading import MAX_PUBLIC_BODY
from citewell.http.server import guarded_app
from citewell.options import Options
from citewell.options.tree import ServeOptions
from citewell.serving.guard import Admission

ADDRESS = "http://127.0.0.1:7413"
PAGE = "http://localhost:3000"


@pytest.fixture
def served(paper_options: Options, paper_engine: LocalEngine) -> Any:
    """`served(**settings)`: a client of a server with these settings."""
    from starlette.testclient import TestClient

    def opened(*, token: str = "", hosts: tuple[str, ...] = (), **settings: Any) -> Any:
        serve = ServeOptions(**settings)
        options = replace(paper_options, serve=serve)
        app = guarded_app(
            create_app(options, paper_engine),
            Admission.at("127.0.0.1", 7413, token=token, origins=serve.allow_origins, hosts=hosts),
            serve.allow_origins,
            rate_limit=serve.rate_limit,
            base_path=serve.base_path,
        )
        return TestClient(app, base_url=ADDRESS)

    return opened


def test_a_client_beyond_its_limit_is_told_when_to_come_again(served: Any, problem: Any) -> None:
    client = served(rate_limit=3, allow_origins=(PAGE,))
    for _ in range(3):
        assert client.get("/v1/status").status_code == 200
    found = client.get("/v1/status", headers={"Origin": PAGE})
    assert problem(found) == (429, "rate-limited")
    assert 1 <= int(found.headers["retry-after"]) <= 20
    assert found.headers["access-control-allow-origin"] == PAGE
    assert client.get("/v1/health").status_code == 200


def test_guesses_of_a_token_are_limited_too(served: Any) -> None:
    client = served(rate_limit=2, token="a-token")
    guesses = [client.get("/v1/status", headers={"Authorization": f"Bearer {n}"}) for n in range(4)]
    assert [one.status_code for one in guesses] == [401, 401, 429, 429]


@pytest.mark.parametrize("before", ["", "/citewell", "/a/b"])
def test_a_server_below_a_path_answers_with_it_and_without(served: Any, before: str) -> None:
    client = served(base_path=before)
    for start in {"", before}:
        assert client.get(f"{start}/v1/health").status_code == 200
        assert client.get(f"{start}/docs/docs.js").status_code == 200
        found = client.get(f"{start}/v1/papers/10.1162/neco.1997.9.8.1735")
        assert found.json()["title"] == "Long Short-Term Memory"
        document = client.get(f"{start}/openapi.json").json()
        assert document["servers"] == [{"url": before or "/"}]
    assert client.get("/citewellx/v1/health").status_code == 404


def test_pages_of_a_host_that_the_user_named_are_its_own(served: Any) -> None:
    client = served(hosts=("cite.example",))
    own = {"Host": "cite.example", "Origin": "https://cite.example"}
    assert client.get("/v1/health", headers=own).status_code == 200
    foreign = own | {"Origin": "https://evil.example"}
    assert client.get("/v1/health", headers=foreign).status_code == 403


def test_a_public_demo_asks_nobody_and_learns_nothing() -> None:
    options = Options()
    given = replace(
        options,
        sources=replace(options.sources, allow=("all",)),
        llm=replace(options.llm, provider="openai", model="x", rerank="listwise", reformulate=True),
    )
    public = public_options(given)
    assert public.sources.allow == () and not public.sources.keep
    assert (public.llm.provider, public.llm.rerank, public.llm.reformulate) == (
        "none", "none", False,
    )  # fmt: skip
    assert not public.learning.enabled
    assert public.serve.rate_limit == RATE_LIMIT
    own = public_options(replace(options, serve=ServeOptions(rate_limit=7)))
    assert own.serve.rate_limit == 7


def test_a_public_demo_takes_small_requests_and_says_what_it_is(served: Any, problem: Any) -> None:
    client = served(read_only=True)
    large = b'{"text": "' + b"x" * MAX_PUBLIC_BODY + b'"}'
    json = {"Content-Type": "application/json"}
    assert problem(client.post("/v1/check", content=large, headers=json)) == (
        413, "request-too-large",
    )  # fmt: skip
    found = client.get("/v1/status").json()
    assert found["read_only"] is True and "read_only" not in served().get("/v1/status").json()
