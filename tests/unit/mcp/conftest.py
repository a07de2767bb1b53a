"""A library of the fixtures' papers, opened once, and a client in the same process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.engine.local import LocalEngine
from citewell.options import Options


@pytest.fixture
def agent(paper_options: Options, paper_engine: LocalEngine) -> Callable[..., Any]:
    """`async with agent(root, allow_write=True) as client`: the SDK's client in memory."""
    from mcp.client import Client

    from citewell.mcp.roots import Roots
    from citewell.mcp.server import create_server

    @contextlib.asynccontextmanager
    async def opened(
        *folders: Path, allow_write: bool = False, engine: Any = None, options: Any = None
    ) -> AsyncIterator[Any]:
        server = create_server(
            options or paper_options,
            engine or paper_engine,
            Roots.open(folders),
            allow_write=allow_write,
        )
        async with Client(server) as client:
            yield client

    return opened
