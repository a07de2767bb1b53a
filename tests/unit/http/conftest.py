"""A library of the fixtures' papers, opened once, and a client of the application over it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LearningOptions, LibraryOptions

# A skip cannot be raised here: without the extra nothing of this folder is collected.
collect_ignore_glob = [] if importlib.util.find_spec("starlette") else ["test_*.py"]
PAPERS = sorted((Path(__file__).parents[2] / "fixtures").glob("*papers.jsonl"))
ADDRESS = "http://127.0.0.1:7413"


@pytest.fixture(scope="session")
def http_options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Settings whose library holds the fixtures' papers."""
    folder = tmp_path_factory.mktemp("http-library")
    env = {k: v for k, v in os.environ.items() if "CITEWELL" not in k}
    env |= {"CITEWELL_LIBRARY_PATH": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "citewell", "library", "add", *map(str, PAPERS)],
        env=env, check=True, capture_output=True,
    )  # fmt: skip
    options = Options()
    return replace(
        options,
        library=LibraryOptions(path=folder),
        learning=LearningOptions(enabled=False),
        # On a busy machine a retriever that is late would change what is found.
        retrieval=replace(options.retrieval, timeout_ms=60_000),
    )


@pytest.fixture(scope="session")
def http_engine(http_options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(http_options)
    engine.load(60)
    yield engine
    engine.close()


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
def client(http_options: Options, http_engine: LocalEngine, client_of: Any) -> Any:
    """A client of a server without a token."""
    return client_of(http_options, http_engine)


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
