"""What the tools for agents cost beyond the engine, and whether many agents at once go well.

    python tests/bench/mcp_bench.py [--library FOLDER/NAME]

Clients and server share this process (the SDK's own client in memory): pipes and sockets are not
measured. Prints milliseconds at the median of a bare engine call and of the tool that makes it, and
the errors and the growth of memory over 1,000 calls from 16 clients.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from pathlib import Path

import attrs
import psutil
from corpus_library import corpus_library
from mcp.client import Client

from citewell.engine.local import LocalEngine
from citewell.mcp.server import create_server
from citewell.model import Query
from citewell.options import Options
from citewell.options.tree import LibraryOptions

CLIENTS = 16
CALLS = 1000


def rss() -> float:
    return psutil.Process().memory_info().rss / 1e6


async def overhead(options: Options, engine: LocalEngine) -> None:
    bare, tool = [], []
    async with Client(create_server(options, engine)) as client:
        for number in range(100):
            # Other words for the tool, of the same cost: nothing that was asked before is kept.
            text, other = f"neural parsing {number}", f"neural parsing {number + 100}"
            begin = time.perf_counter()
            engine.find(Query(text=text), 11, tier="full")
            middle = time.perf_counter()
            await client.call_tool("search_papers", {"query": other})
            bare.append(middle - begin)
            tool.append(time.perf_counter() - middle)
    print(f"search: engine {1e3 * statistics.median(bare):.1f} ms, "
          f"tool {1e3 * statistics.median(tool):.1f} ms (p50)")  # fmt: skip
    bare, tool = [], []
    found = engine.find(Query(text="parsing"), 1).hits[0].work.id
    async with Client(create_server(options, engine)) as client:
        for _ in range(500):
            begin = time.perf_counter()
            engine.works([found])
            middle = time.perf_counter()
            await client.call_tool("get_papers", {"ids": [found]})
            bare.append(middle - begin)
            tool.append(time.perf_counter() - middle)
    print(f"get_papers: engine {1e3 * statistics.median(bare):.2f} ms, "
          f"tool {1e3 * statistics.median(tool):.2f} ms (p50)")  # fmt: skip


async def crowd(options: Options, engine: LocalEngine) -> None:
    server = create_server(options, engine)
    errors = 0

    async def ask(agent: int, calls: int) -> None:
        nonlocal errors
        async with Client(server) as client:
            for number in range(calls):
                text = f"graph networks {(agent * calls + number) % 50}"
                errors += (await client.call_tool("search_papers", {"query": text})).is_error

    await asyncio.gather(*(ask(n, 20) for n in range(CLIENTS)))  # what is kept is kept by now
    before, begin = rss(), time.perf_counter()
    await asyncio.gather(*(ask(n, CALLS // CLIENTS + 1) for n in range(CLIENTS)))
    calls = CLIENTS * (CALLS // CLIENTS + 1)
    print(f"{calls} calls from {CLIENTS} clients: {errors} errors, "
          f"{time.perf_counter() - begin:.1f} s, memory {before:.0f} -> {rss():.0f} MB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    path = parser.parse_args().library or corpus_library()
    if path is None:
        return
    options = attrs.evolve(Options(), library=LibraryOptions(path=path.parent, name=path.name))
    engine = LocalEngine.open(options)
    engine.load(60)
    asyncio.run(overhead(options, engine))
    asyncio.run(crowd(options, engine))
    engine.close()


if __name__ == "__main__":
    main()
