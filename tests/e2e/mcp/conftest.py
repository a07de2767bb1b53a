"""The server as an agent starts it: processes, clients, and the libraries that they ask."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "citewell", "mcp"]
TOKEN = "a-token"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/mcp")


@pytest.fixture(scope="session")
def mcp_command() -> list[str]:
    """The command line of a server on pipes."""
    return list(COMMAND)


@pytest.fixture(scope="session")
def client() -> Callable[..., Any]:
    """`async with client(env, "--root", folder) as session`: a server of one's own, on pipes."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    def started(env: dict[str, str], *arguments: str | Path, **how: Any) -> Any:
        command = [*COMMAND, *map(str, arguments)]
        return Client(
            stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=env)),
            **how,
        )

    return started


@pytest.fixture(scope="session")
def over_http() -> Callable[..., Any]:
    """`async with over_http(url) as session`: a client of a server that others use, too."""
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    @contextlib.asynccontextmanager
    async def connected(url: str, token: str = TOKEN, **how: Any) -> Any:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120)
        async with http, Client(streamable_http_client(url, http_client=http), **how) as session:
            yield session

    return connected


@contextlib.contextmanager
def http_server(
    env: dict[str, str],
    *arguments: str | Path,
    token: str = TOKEN,
    command: Any = COMMAND,
    log: list[str] | None = None,
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server on a free port of this machine: its address and its process. At the end, `log` has
    the lines of its standard error."""
    lines = [] if log is None else log
    server = subprocess.Popen(
        [*command, *map(str, arguments)],
        env=env | {"CITEWELL_MCP_TOKEN": token}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        while not (lines and (found := ADDRESS.search(lines[-1]))):
            lines.append(server.stderr.readline())
            assert lines[-1], f"the server ended: {lines}"
        # Nobody may wait because a pipe that nobody reads is full.
        reader = threading.Thread(target=lines.extend, args=(server.stderr,), daemon=True)
        reader.start()
        yield found[0], server
        server.terminate()
        reader.join(timeout=30)
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="session")
def serving() -> Callable[..., Any]:
    """`with serving(env, "--root", folder, token="") as (url, process)`: on HTTP."""

    def started(env: dict[str, str], *arguments: str | Path, **how: Any) -> Any:
        return http_server(env, "--http", "127.0.0.1:0", *arguments, **how)

    return started


@pytest.fixture(scope="session")
def serving_command() -> Callable[..., Any]:
    """The same for another command line that serves."""

    def started(env: dict[str, str], command: list[str]) -> Any:
        return http_server(env, command=command, token="")

    return started


@pytest.fixture(scope="session")
def structured() -> Callable[..., Any]:
    """`await structured(session, tool, **arguments)`: the typed answer; a failure fails."""

    async def call(session: Any, name: str, **arguments: Any) -> Any:
        found = await session.call_tool(name, arguments)
        assert not found.is_error, found.content
        return found.structured_content

    return call
