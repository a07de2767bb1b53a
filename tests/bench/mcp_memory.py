"""Memory of several `citewell mcp` processes over one library, which share its pages. Linux only.

    python tests/bench/mcp_memory.py [--library FOLDER/NAME] [--servers N] [--calls N]

Each server is a process of its own over pipes, as agents start them, and searches before the
memory of all is read from `/proc`: what is a process's own, and what it shares with the others.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path

import psutil
from corpus_library import corpus_library
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_bench import SERVER, environment

QUERIES = (
    "graph attention networks",
    "dependency parsing",
    "neural machine translation",
    "image recognition",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, help="folder of a library")
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--calls", type=int, default=20)
    flags = parser.parse_args()
    if sys.platform != "linux":
        print("skipped: needs /proc")
        return
    folder = flags.library or corpus_library(("acl", "ml"))
    if folder is not None:
        asyncio.run(measure(folder, flags.servers, flags.calls))


async def measure(library: Path, servers: int, calls: int) -> None:
    """Start the servers one after the other, and print the memory of all after each."""
    with environment(library) as env:
        async with contextlib.AsyncExitStack() as stack:
            for number in range(1, servers + 1):
                pipes = StdioServerParameters(command=SERVER[0], args=SERVER[1:], env=env)
                client = await stack.enter_async_context(Client(stdio_client(pipes)))
                for turn in range(calls):
                    query = f"{QUERIES[turn % len(QUERIES)]} {turn}"
                    found = await client.call_tool("search_papers", {"query": query})
                    assert not found.is_error, found.content
                print(f"{number} servers, each with its search process; MB own / shared / in all")
                for server in psutil.Process().children():
                    for process in (server, *server.children(recursive=True)):
                        kind = "search process" if process.pid != server.pid else "server"
                        own, shared, resident = memory(process.pid)
                        print(f"  {kind:<15} {own:4.0f} / {shared:4.0f} / {resident:4.0f}")


def memory(pid: int) -> tuple[float, float, float]:
    """Megabytes that the process has for itself, that others map too, and both."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    parts = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    own = parts["Private_Clean"] + parts["Private_Dirty"]
    return own, parts["Rss"] - own, parts["Rss"]


if __name__ == "__main__":
    main()
