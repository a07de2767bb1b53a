"""What the tools for agents cost beyond the engine, and whether many agents at once go well.

    python tests/bench/mcp_bench.py [--library FOLDER/NAME] [--calls N]

Prints milliseconds at the median of a bare engine call in this process, and of the tool that makes
it: in memory over that engine, in memory over the worker process, over pipes, and over HTTP; the
difference is the overhead. Beside each stands the bare SDK on the same path: a server whose only
tool answers with the same record, or the same page of a search, from a constant. The page is asked
for after a pause as long as a search: what has been idle for so long answers more slowly. Calls of
all paths take turns, so that a busy machine slows all alike.
Then 1,000 calls from 16 clients over HTTP: errors, and the growth of the server's memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from corpus_library import corpus_library
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.engine.worker_client import WorkerEngine
from citewell.mcp.server import create_server
from citewell.model import Query
from citewell.options import Options
from citewell.options.tree import LibraryOptions

CLIENTS = 16
CALLS = 1000
ALLOWED_MS = 3.0
SERVER = [sys.executable, "-m", "citewell", "mcp"]
BARE = """
import json, os, sys
from typing import Any
from mcp.server import MCPServer

ANSWER = json.loads(os.environ["ANSWER"])
server = MCPServer("bare", log_level="WARNING")


@server.tool(structured_output=True)
def get_papers(ids: list[str]) -> dict[str, Any]:
    return ANSWER


def main():
    if sys.argv[1:] == ["stdio"]:
        server.run()
        return
    import socket, uvicorn

    # Named, so that asyncio turns Nagle's algorithm off as it does for uvicorn's own sockets.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen()
    print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
"""


@contextlib.contextmanager
def environment(library: Path) -> Iterator[dict[str, str]]:
    """With this library and nothing of the user's."""
    with tempfile.TemporaryDirectory() as folder:
        clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
        (Path(folder) / "config.toml").touch()
        yield clean | {
            "CITEWELL_CONFIG": str(Path(folder) / "config.toml"),
            "CITEWELL_CACHE": str(Path(folder) / "cache"),
            "CITEWELL_DATA": str(Path(folder) / "data"),
            "CITEWELL_LIBRARY_PATH": str(library.parent),
            "CITEWELL_LIBRARY_NAME": library.name,
        }


@contextlib.contextmanager
def http_server(
    env: dict[str, str], command: Sequence[str] = (*SERVER, "--http", "127.0.0.1:0")
) -> Iterator[tuple[str, psutil.Process]]:
    server = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        found = None
        while found is None:
            line = server.stderr.readline()
            if not line:
                raise SystemExit("the server ended")
            found = re.search(r"http://\S+/mcp", line)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield found[0], psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


@contextlib.asynccontextmanager
async def paths(
    options: Options, engine: LocalEngine, env: dict[str, str], url: str
) -> AsyncIterator[dict[str, Any]]:
    """A client for each way to the engine."""
    worker = WorkerEngine(options)
    pipes = StdioServerParameters(command=SERVER[0], args=SERVER[1:], env=env)
    try:
        async with (
            Client(create_server(options, engine)) as memory,
            Client(create_server(options, worker)) as child,
            Client(stdio_client(pipes)) as stdio,
            Client(streamable_http_client(url)) as http,
        ):
            yield {"in memory": memory, "worker": child, "stdio": stdio, "http": http}
    finally:
        worker.close()


@contextlib.asynccontextmanager
async def bare_clients(env: dict[str, str], answer: Any) -> AsyncIterator[dict[str, Any]]:
    """Clients of the SDK alone, which always gives this answer."""
    env = env | {"ANSWER": json.dumps(answer)}
    command = (sys.executable, "-c", BARE)
    pipes = StdioServerParameters(command=command[0], args=[*command[1:], "stdio"], env=env)
    with http_server(env, (*command, "http")) as (url, _):
        async with (
            Client(stdio_client(pipes)) as stdio,
            Client(streamable_http_client(url)) as http,
        ):
            yield {"stdio": stdio, "http": http}


async def bare_sdk(env: dict[str, str], clients: dict[str, Any], held: str, calls: int) -> None:
    """The same answer from the SDK alone, call by call beside ours."""
    answer = (
        await clients["in memory"].call_tool("get_papers", {"ids": [held]})
    ).structured_content
    async with bare_clients(env, answer) as bare_ones:
        both = {path: (clients[path], bare) for path, bare in bare_ones.items()}
        print("get_papers, Citewell and the bare SDK (p50)")
        for path, pair in both.items():
            spent: tuple[list[float], list[float]] = ([], [])
            for _ in range(calls):
                for times, client in zip(spent, pair, strict=True):
                    begin = time.perf_counter()
                    found = await client.call_tool("get_papers", {"ids": [held]})
                    times.append(time.perf_counter() - begin)
                    assert found.structured_content == answer
            ours, bare = (1e3 * statistics.median(times) for times in spent)
            print(f"  {path:<10} {ours:.2f} ms, bare {bare:.2f}: {ours - bare:+.2f} ms")


async def bare_page(
    env: dict[str, str], clients: dict[str, Any], seconds: float, calls: int
) -> None:
    """A page of a search from the SDK alone, after a pause of as many seconds."""
    arguments = {"query": "neural parsing"}
    answer = (await clients["in memory"].call_tool("search_papers", arguments)).structured_content
    async with bare_clients(env, answer) as bare_ones:
        print(f"a page of search_papers, the bare SDK after {1e3 * seconds:.0f} ms (p50)")
        for path, client in bare_ones.items():
            times = []
            for _ in range(calls):
                await asyncio.sleep(seconds)
                begin = time.perf_counter()
                found = await client.call_tool("get_papers", {"ids": ["any"]})
                times.append(time.perf_counter() - begin)
                assert found.structured_content == answer
            print(f"  {path:<10} {1e3 * statistics.median(times):.2f} ms")


async def overhead(
    name: str,
    calls: int,
    clients: dict[str, Any],
    bare: Callable[[int], object],
    tool: str,
    arguments: Callable[[int], dict[str, Any]],
) -> float:
    """Prints the overheads; the median of the engine in seconds."""
    spent: dict[str, list[float]] = {path: [] for path in ("engine", *clients)}
    for client in clients.values():
        await client.call_tool(tool, arguments(0))
    for number in range(calls):
        # Each asks for words of its own, of the same cost: nothing that was asked before is kept.
        begin = time.perf_counter()
        bare(number * 10)
        spent["engine"].append(time.perf_counter() - begin)
        for place, (path, client) in enumerate(clients.items(), 1):
            begin = time.perf_counter()
            found = await client.call_tool(tool, arguments(number * 10 + place))
            spent[path].append(time.perf_counter() - begin)
            assert not found.is_error, found.content
    base = 1e3 * statistics.median(spent.pop("engine"))
    print(f"{name}: engine {base:.2f} ms (p50 of {calls})")
    for path, times in spent.items():
        more = 1e3 * statistics.median(times) - base
        print(f"  {path:<10} {more:+.2f} ms{'' if more <= ALLOWED_MS else '  MORE THAN ALLOWED'}")
    return base / 1e3


async def processor(url: str, server: psutil.Process, held: str, calls: int) -> None:
    """What a call costs the processor, which other programs of a busy machine do not change."""
    worker = server.children()[0]
    parts = {"server": server, "worker": worker, "client": psutil.Process()}

    def used() -> dict[str, float]:
        return {name: sum(one.cpu_times()[:2]) for name, one in parts.items()}

    async with Client(streamable_http_client(url)) as client:
        before = used()
        for _ in range(calls):
            await client.call_tool("get_papers", {"ids": [held]})
        after = used()
    timings = (f"{name} {1e3 * (after[name] - before[name]) / calls:.2f} ms" for name in parts)
    print(f"get_papers over HTTP, processor time per call: {', '.join(timings)}")


async def crowd(url: str, server: psutil.Process) -> None:
    errors = 0

    async def ask(agent: int, calls: int) -> None:
        nonlocal errors
        async with Client(streamable_http_client(url)) as client:
            for number in range(calls):
                text = f"graph networks {(agent * calls + number) % 50}"
                errors += (await client.call_tool("search_papers", {"query": text})).is_error

    def rss() -> float:
        family = (server, *server.children(recursive=True))
        return sum(one.memory_info().rss for one in family) / 1e6

    await asyncio.gather(*(ask(n, 20) for n in range(CLIENTS)))  # what is kept is kept by now
    before, begin = rss(), time.perf_counter()
    await asyncio.gather(*(ask(n, CALLS // CLIENTS + 1) for n in range(CLIENTS)))
    calls = CLIENTS * (CALLS // CLIENTS + 1)
    print(f"{calls} calls from {CLIENTS} clients over HTTP: {errors} errors, "
          f"{time.perf_counter() - begin:.1f} s, memory {before:.0f} -> {rss():.0f} MB")  # fmt: skip


async def measure(options: Options, engine: LocalEngine, library: Path, calls: int) -> None:
    held = engine.find(Query(text="parsing"), 1).hits[0].work.id
    with environment(library) as env, http_server(env) as (url, server):
        async with paths(options, engine, env, url) as clients:
            await overhead(
                "get_papers", 5 * calls, clients,
                lambda n: engine.works([held]), "get_papers", lambda n: {"ids": [held]},
            )  # fmt: skip
            searched = await overhead(
                "search_papers", calls, clients,
                lambda n: engine.find(Query(text=f"neural parsing {n}"), 11, tier="full"),
                "search_papers", lambda n: {"query": f"neural parsing {n}"},
            )  # fmt: skip
            await bare_sdk(env, clients, held, 5 * calls)
            await bare_page(env, clients, searched, calls)
        await processor(url, server, held, 5 * calls)
        await crowd(url, server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    parser.add_argument("--calls", type=int, default=100)
    given = parser.parse_args()
    path = given.library or corpus_library()
    if path is None:
        return
    options = replace(Options(), library=LibraryOptions(path=path.parent, name=path.name))
    engine = LocalEngine.open(options)
    engine.load(60)
    asyncio.run(measure(options, engine, path, given.calls))
    engine.close()


if __name__ == "__main__":
    main()
