"""A library of the fixtures' papers, opened once, and a client in the same process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LearningOptions, LibraryOptions

PAPERS = sorted((Path(__file__).parents[2] / "fixtures").glob("*papers.jsonl"))


@pytest.fixture(scope="session")
def mcp_options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Settings whose library holds the fixtures' papers."""
    folder = tmp_path_factory.mktemp("mcp-library")
    env = {k: v for k, v in os.environ.items() if "CITEWELL" not in k}
    env |= {"CITEWELL_LIBRARY_PATH": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "citewell", "library", "add", *map(str, PAPERS)],
        env=env, check=True, capture_output=True,
    )  # fmt: skip
    # Tests share an engine: what one enters must not change the order that another expects.
    return replace(
        Options(), library=LibraryOptions(path=folder), learning=LearningOptions(enabled=False)
    )


@pytest.fixture(scope="session")
def mcp_engine(mcp_options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(mcp_options)
    engine.load(60)
    yield engine
    engine.close()


@pytest.fixture
def agent(mcp_options: Options, mcp_engine: LocalEngine) -> Callable[..., Any]:
    """`async with agent(root, allow_write=True) as client`: the SDK's client in memory."""
    from mcp.client import Client

    from citewell.mcp.roots import Roots
    from citewell.mcp.server import create_server

    @contextlib.asynccontextmanager
    async def opened(
        *folders: Path, allow_write: bool = False, engine: Any = None, options: Any = None
    ) -> AsyncIterator[Any]:
        server = create_server(
            options or mcp_options,
            engine or mcp_engine,
            Roots.open(folders),
            allow_write=allow_write,
        )
        async with Client(server) as client:
            yield client

    return opened
