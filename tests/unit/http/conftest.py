"""A library of the fixtures' papers, opened once, and a client of the application over it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from citewell.engine.local import LocalEngine
from citewell.options import Options

# A skip cannot be raised here: without the extra nothing of this folder is collected.
collect_ignore_glob = [] if importlib.util.find_spec("starlette") else ["test_*.py"]
ADDRESS = "http://127.0.0.1:7413"


@pytest.fixture(scope="session")
def client_of() -> Callable[..., Any]:
    """`client_of(options, engine, token="", origins=(), **how)`: a client behind the guards."""
    from starlette.testclient import TestClient

    from citewell.http.app import create_app
    from citewell.http.server import guarded_app
    from citewell.serving.guard import Admission

    def opened(
        options: Options,
        engine: Any,
        *,
        token: str = "",
        origins: tuple[str, ...] = (),
        hosts: tuple[str, ...] = (),
        **how: Any,
    ) -> Any:
        admission = Admission.at("127.0.0.1", 7413, token=token, origins=origins, hosts=hosts)
        app = guarded_app(create_app(options, engine), admission, origins)
        return TestClient(app, base_url=ADDRESS, **how)

    return opened


@pytest.fixture
def client(paper_options: Options, paper_engine: LocalEngine, client_of: Any) -> Any:
    """A client of a server without a token."""
    return client_of(paper_options, paper_engine)


@pytest.fixture
def problem() -> Callable[[Any], tuple[int, str]]:
    """`problem(response)`: status and code, after the form of RFC 9457 was checked."""

    def of(response: Any) -> tuple[int, str]:
        assert response.headers["content-type"] == "application/problem+json", response.text
        found = response.json()
        assert found["status"] == response.status_code
        assert found["type"] == f"/problems/{found['code']}"
        assert found["title"] and found["detail"] and found["hint"]
        return response.status_code, found["code"]

    return of
