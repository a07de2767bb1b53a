"""Clients that cancel, vanish or are many: the server goes on, and files are whole."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

REFERENCES = "".join(
    f"@article{{k{n}, title={{Unheard of Thing Number {n} in Teacups of Porcelain}}, "
    f"author={{Roe, Jo and Doe, Jan}}, year={{{1980 + n % 40}}}}}\n"
    for n in range(6000)
)
TITLES = ("attention is all you need", "long short-term memory", "graph attention networks",
          "deep residual learning", "adam: a method for stochastic optimization")  # fmt: skip


def cpu_of(process: psutil.Process) -> float:
    """Seconds of the processor that a server and its engine have used."""
    return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))


async def quiet(process: psutil.Process, seconds: float = 20.0) -> bool:
    """Whether the processes come to rest: a tenth of the processor in half a second at most."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        before = cpu_of(process)
        await asyncio.sleep(0.5)
        if cpu_of(process) - before < 0.05:
            return True
    return False


def many_placeholders(count: int) -> str:
    body = "".join(
        f"Claim {n} \\cite<{TITLES[n % len(TITLES)]} {n}> holds.\n" for n in range(count)
    )
    return f"\\documentclass{{article}}\\begin{{document}}\n{body}\\bibliography{{refs}}\n\\end{{document}}\n"


@contextlib.asynccontextmanager
async def on_pipes(client: Any, env: dict[str, str], root: Path) -> AsyncIterator[Any]:
    """A session and the process of its server."""
    before = {one.pid for one in psutil.Process().children()}
    async with client(env, "--root", root, "--allow-write") as session:
        (process,) = [one for one in psutil.Process().children() if one.pid not in before]
        yield session, process


@contextlib.asynccontextmanager
async def on_http(
    serving: Any, over_http: Any, env: dict[str, str], root: Path
) -> AsyncIterator[Any]:
    with serving(env, "--root", root, "--allow-write") as (url, server):
        async with over_http(url) as session:
            yield session, psutil.Process(server.pid)


@pytest.mark.parametrize(
    ("tool", "transport"), [("check_references", "pipes"), ("fill_document", "http")]
)
async def test_what_a_client_cancels_stops_and_the_server_goes_on(
    env: dict[str, str], tmp_path: Path, client: Any, serving: Any, over_http: Any,
    structured: Any, tool: str, transport: str,
) -> None:  # fmt: skip
    """Cancelled after a first word of progress; the engine's process comes to rest long before
    the work would have been done, nothing is written, and the next call is answered."""
    paper = tmp_path / "main.tex"
    paper.write_text(many_placeholders(1500))
    (tmp_path / "refs.bib").touch()
    before = paper.read_bytes()
    arguments: dict[str, dict[str, Any]] = {
        "check_references": {"text": REFERENCES},
        "fill_document": {"path": "main.tex", "write": True},
    }
    reports: list[tuple[float, float | None]] = []
    begun = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total))
        if progress:
            begun.set()

    opened = (
        on_pipes(client, env, tmp_path)
        if transport == "pipes"
        else on_http(serving, over_http, env, tmp_path)
    )
    async with opened as (session, process):
        await structured(session, "search_papers", query="attention")
        async with anyio.create_task_group() as group:
            group.start_soon(
                lambda: session.call_tool(tool, arguments[tool], progress_callback=hear)
            )
            await begun.wait()
            group.cancel_scope.cancel()
        assert await quiet(process)
        done, total = reports[-1]
        assert total is not None and done < total / 2, "it was done before it was cancelled"
        page = await structured(session, "search_papers", query="graph attention networks")
        assert page["papers"][0]["id"] == "fx:5"
    assert paper.read_bytes() == before
    assert (tmp_path / "refs.bib").read_bytes() == b""


def start(env: dict[str, str], command: list[str], root: Path) -> subprocess.Popen[bytes]:
    """A server on pipes that has shaken hands and searched once."""
    server = subprocess.Popen(
        [*command, "--root", str(root), "--allow-write"],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    params = {"protocolVersion": "2025-06-18", "capabilities": {},
              "clientInfo": {"name": "t", "version": "1"}}  # fmt: skip
    send(server, {"id": 1, "method": "initialize", "params": params})
    answer_of(server, 1)
    send(server, {"method": "notifications/initialized"})
    call(server, 2, "search_papers", query="attention")
    answer_of(server, 2)
    return server


def send(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def call(server: subprocess.Popen[bytes], number: int, tool: str, **arguments: Any) -> None:
    params = {"name": tool, "arguments": arguments}
    send(server, {"id": number, "method": "tools/call", "params": params})


def answer_of(server: subprocess.Popen[bytes], number: int) -> dict[str, Any]:
    assert server.stdout is not None
    while line := server.stdout.readline():
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == number:
            return message
    raise AssertionError("the server ended")


PAPER = many_placeholders(40)
BIB = "% mine\n"


@pytest.mark.parametrize(("how", "moments"), [("killed", 5), ("hung up", 3)])
def test_a_client_that_vanishes_in_the_middle_leaves_whole_files(
    env: dict[str, str], tmp_path: Path, mcp_command: list[str], how: str, moments: int
) -> None:
    """At several moments of a fill, up to its last millisecond."""

    def fresh(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.tex").write_text(PAPER)
        (folder / "refs.bib").write_text(BIB)
        return folder

    whole = fresh("whole")
    server = start(env, mcp_command, whole)
    begin = time.monotonic()
    call(server, 3, "fill_document", path="main.tex", threshold=0, write=True)
    assert answer_of(server, 3)["result"]["structuredContent"]["written"]
    spent = time.monotonic() - begin
    server.kill()
    server.wait()
    states = {
        name: {PAPER.encode() if name == "main.tex" else BIB.encode(), (whole / name).read_bytes()}
        for name in ("main.tex", "refs.bib")
    }
    assert all(len(both) == 2 for both in states.values())
    for moment in range(moments):
        folder = fresh(f"{how}-{moment}")
        server = start(env, mcp_command, folder)
        call(server, 3, "fill_document", path="main.tex", threshold=0, write=True)
        time.sleep(spent * (moment + 1) / moments)
        assert server.stdin is not None and server.stdout is not None
        if how == "killed":
            server.kill()
        server.stdin.close()
        server.stdout.close()
        server.wait(timeout=60)
        for name, both in states.items():
            assert (folder / name).read_bytes() in both, (moment, name)
        # A citation is never there without its entry.
        if (folder / "main.tex").read_bytes() != PAPER.encode():
            assert (folder / "refs.bib").read_bytes() != BIB.encode()
        if how == "hung up":
            assert sorted(path.name for path in folder.iterdir()) == ["main.tex", "refs.bib"]


async def test_agents_with_servers_of_their_own_lose_no_entry_of_one_bib(
    env: dict[str, str], tmp_path: Path, client: Any, structured: Any
) -> None:
    """Three agents add to one file at once; what each was told to be written is there, whole."""
    (tmp_path / "refs.bib").write_text(BIB)
    messages: list[str] = []

    async def add(first: int) -> None:
        async with client(env, "--root", tmp_path, "--allow-write") as session:
            for n in range(first, 16, 3):
                done = await structured(
                    session, "add_entry", id=f"fx:{n}", bib="refs.bib", write=True
                )
                messages.append(done["key"])

    await asyncio.gather(*(add(n) for n in (1, 2, 3)))
    text = (tmp_path / "refs.bib").read_text()
    assert text.startswith(BIB) and text.count("\n@") == 15
    assert sorted(messages) == sorted(line.partition("{")[2].rstrip(",") for line in text.splitlines()
                                  if line.startswith("@"))  # fmt: skip
    # One agent alone would have written the same entries.
    (tmp_path / "alone.bib").write_text(BIB)
    async with client(env, "--root", tmp_path, "--allow-write") as session:
        for n in range(1, 16):
            await structured(session, "add_entry", id=f"fx:{n}", bib="alone.bib", write=True)
    assert entries(text) == entries((tmp_path / "alone.bib").read_text())


def entries(text: str) -> list[str]:
    return sorted(part.strip() for part in text.partition("\n")[2].split("\n\n"))


@pytest.mark.nightly
async def test_a_thousand_calls_from_sixteen_agents_go_well_and_leave_no_memory(
    env: dict[str, str], serving: Any, over_http: Any, structured: Any
) -> None:
    """Real sockets. What is kept is kept after the first calls; then memory stays."""
    queries = [("graph attention networks", "fx:5"), ("deep residual learning", "fx:7")]

    async def ask(url: str, agent: int, calls: int) -> None:
        query, expected = queries[agent % 2]
        async with over_http(url) as session:
            for number in range(calls):
                if number % 3 == 2:
                    found = await structured(session, "get_papers", ids=[expected])
                else:
                    found = await structured(session, "search_papers", query=query, k=1)
                assert found["papers"][0]["id"] == expected

    async def everybody(url: str, calls: int, run: Callable[..., Any] = ask) -> None:
        await asyncio.gather(*(run(url, agent, calls) for agent in range(16)))

    with serving(env) as (url, server):
        process = psutil.Process(server.pid)

        def memory() -> float:
            return sum(
                one.memory_info().rss for one in (process, *process.children(recursive=True))
            )

        await everybody(url, 20)
        before = memory()
        await everybody(url, 63)
        grown = (memory() - before) / 1e6
    print(f"1,008 calls from 16 agents: {grown:+.1f} MB")
    assert grown < 16


def test_a_request_with_half_a_surrogate_pair_is_answered(
    env: dict[str, str], mcp_command: list[str], tmp_path: Path
) -> None:
    server = start(env, mcp_command, tmp_path)
    with contextlib.closing(server.stdout):
        call(server, 3, "search_papers", query="attention \ud83d")
        assert answer_of(server, 3)["result"]["structuredContent"]["papers"]
        server.terminate()
        server.wait(timeout=30)
