"""The server as an agent starts it: a real process, over its pipes and over HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PAPERS = (FIXTURES / "papers.jsonl", FIXTURES / "more_papers.jsonl")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose library holds the papers of the fixtures, and nothing of the user's."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "config.toml").touch()
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    clean |= {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "CITEWELL_HISTORY": str(folder / "history"),
        "CITEWELL_CACHE": str(folder / "cache"),
        "CITEWELL_RETRIEVAL_TIMEOUT_MS": "60000",
        "OMP_NUM_THREADS": "1",
    }
    add = [sys.executable, "-m", "citewell", "library", "add", *map(str, PAPERS)]
    subprocess.run(add, env=clean, cwd=folder, check=True, capture_output=True)
    return clean


def client(env: dict[str, str], *arguments: str) -> Any:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    return Client(
        stdio_client(
            StdioServerParameters(
                command=sys.executable, args=["-m", "citewell", "mcp", *arguments], env=env
            )
        )
    )


async def structured(session: Any, name: str, **arguments: Any) -> Any:
    found = await session.call_tool(name, arguments)
    assert not found.is_error, found.content
    return found.structured_content


PAPER = """\\documentclass{article}
\\begin{document}
Transformers \\cite<attention is all you need> came after
LSTMs \\cite<long short-term memory>.
\\bibliography{refs}
\\end{document}
"""
FILLED = PAPER.replace("<attention is all you need>", "{vaswani2017attention}").replace(
    "<long short-term memory>", "{hochreiter1997long}"
)
BIB = """@article{hochreiter1997long,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  journal = {Neural Computation},
  year = {1997}
}
"""


async def test_a_document_is_filled_over_the_pipes(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "main.tex").write_text(PAPER)
    (tmp_path / "refs.bib").write_text(BIB)
    async with client(env, "--root", str(tmp_path), "--allow-write") as session:
        done = await structured(session, "fill_document", path="main.tex", write=True)
        again = await structured(session, "fill_document", path="main.tex", write=True)
    assert done["written"] and not again["written"]
    assert (tmp_path / "main.tex").read_text() == FILLED
    bib = (tmp_path / "refs.bib").read_text()
    assert bib.startswith(BIB) and bib.count("@") == 2
    assert "@inproceedings{vaswani2017attention," in bib


async def test_two_agents_at_once_add_every_paper_once(env: dict[str, str], tmp_path: Path) -> None:
    """Each has a server process of its own; a lost race is an error that says to try again."""
    (tmp_path / "a.bib").write_text("")
    (tmp_path / "b.bib").write_text("")

    async def add(bib: str) -> None:
        async with client(env, "--root", str(tmp_path), "--allow-write") as session:
            for n in range(1, 8):
                await structured(session, "add_entry", id=f"fx:{n}", bib=bib, write=True)

    await asyncio.gather(add("a.bib"), add("b.bib"))
    assert (tmp_path / "a.bib").read_text() == (tmp_path / "b.bib").read_text()
    assert (tmp_path / "a.bib").read_text().count("\n@") == 6


def test_a_client_that_disappears_leaves_no_process_behind(
    env: dict[str, str], tmp_path: Path
) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "citewell", "mcp", "--root", str(tmp_path)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    server.stdin.flush()
    assert b'"citewell"' in server.stdout.readline()
    server.stdin.write(
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_papers",'
        b'"arguments":{"query":"attention"}}}\n'
    )
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=60)


@pytest.fixture(scope="module")
def url(env: dict[str, str]) -> Iterator[str]:
    """A server on HTTP that wants a token."""
    server = subprocess.Popen(
        [sys.executable, "-m", "citewell", "mcp", "--http", "127.0.0.1:0"],
        env=env | {"CITEWELL_MCP_TOKEN": "a-token"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    found = None
    said = []
    while found is None:
        said.append(server.stderr.readline())
        assert said[-1], f"the server ended: {said}"
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", said[-1])
    yield found[0]
    server.terminate()
    server.wait(timeout=30)


CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer a-token"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Authorization": "Bearer another"}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer a-token-and-more"}, 401),
    ],
)
def test_foreign_requests_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    import httpx2

    found = httpx2.post(url, json=CALL, headers=ACCEPT | headers, timeout=60)
    assert found.status_code == status, found.text


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    import httpx2

    body = b'{"x":"' + b"x" * (2 * 1024 * 1024) + b'"}'
    found = httpx2.post(
        url, content=body, headers=ACCEPT | {"Content-Type": "application/json"}, timeout=60
    )
    assert found.status_code == 413
    assert found.text


async def test_sixteen_agents_ask_at_once_over_http(url: str) -> None:
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def ask(query: str) -> str:
        http = httpx2.AsyncClient(headers={"Authorization": "Bearer a-token"}, timeout=60)
        async with http, Client(streamable_http_client(url, http_client=http)) as session:
            for _ in range(4):
                page = await structured(session, "search_papers", query=query, k=1)
            return str(page["papers"][0]["id"])

    asked = ["graph attention networks", "deep residual learning"] * 8
    assert await asyncio.gather(*map(ask, asked)) == ["fx:5", "fx:7"] * 8


def test_an_open_address_wants_a_token(env: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "citewell", "mcp", "--http", "0.0.0.0:0"],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "CITEWELL_MCP_TOKEN" in run.stderr
