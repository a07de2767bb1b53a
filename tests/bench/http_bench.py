"""What `citewell serve` costs beyond the engine, and whether many clients at once go well.

    python tests/bench/http_bench.py [--library FOLDER/NAME] [--calls N] [--only beside|crowd] [--workers N]
    python tests/bench/http_bench.py --clients 64 --seconds 600 [--workers N] [--library FOLDER/NAME]

Prints milliseconds (p50, p95) of a call of the engine through its worker, as the server makes it,
and of the same over HTTP; and of a bare Starlette application on uvicorn that sends back as many
bytes, started the same way: what no server in this language can go below. Calls of all take turns,
so that a busy machine slows all alike. Then the processor's time for a call, the memory of both
servers, and 1,000 calls from 16 clients: errors, and the growth of memory. Then 2,000 searches from
64 clients at once, of the server and of the bare application in turns, with the processor's time for
a search, which other programs slow less, and the answers that lack a part, such as a retriever that
was late. At last, what a check of one reference takes alone and beside 64 clients that search.

With --seconds, only this: so many clients search for so long, in two halves without a pause; before,
between and after them they ask the bare application for a tenth of the time in all. Prints requests,
errors and times, and what memory the server and each search process has for itself (private) and
with its share of what others map too (PSS) at the beginning, in the middle and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
from corpus_library import corpus_library
from http_load import sustained
from msgspec.structs import replace

from citewell.engine.worker_client import WorkerEngine
from citewell.model import Query
from citewell.options import Options
from citewell.options.tree import LibraryOptions
from citewell.serving.run import MAX_CONNECTIONS
from citewell.usecases.find import passage_queries

CLIENTS = 16
CALLS = 1000
SEARCHERS = 64
MAX_SECONDS = 3_600
CROWD, CROWD_CALLS, SLICE = 64, 2_000, 250
SERVE = [sys.executable, "-m", "citewell", "serve", "--port", "0"]


def echo() -> None:
    """A server that sends back the body of each request, and nothing else."""
    import json
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def back(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    # As the server's own: without a named protocol each answer waits for an acknowledgement.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen(128)
    print(json.dumps({"url": f"http://127.0.0.1:{bound.getsockname()[1]}"}), flush=True)
    app = Starlette(routes=[Route("/", back, methods=["POST"])])
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[bound])


@contextlib.contextmanager
def started(command: list[str], env: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """A server's address and its process."""
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise SystemExit("the server ended")
        threading.Thread(target=server.stdout.read, daemon=True).start()
        yield json.loads(line)["url"], psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def environment(library: Path, workers: int = 1) -> Iterator[dict[str, str]]:
    """With this library, so many search processes, and nothing of the user's."""
    with tempfile.TemporaryDirectory() as folder:
        clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
        (Path(folder) / "config.toml").touch()
        yield clean | {
            "CITEWELL_CONFIG": str(Path(folder) / "config.toml"),
            "CITEWELL_CACHE": str(Path(folder) / "cache"),
            "CITEWELL_DATA": str(Path(folder) / "data"),
            "CITEWELL_LIBRARY_PATH": str(library.parent),
            "CITEWELL_LIBRARY_NAME": library.name,
            "CITEWELL_SERVE_WORKERS": str(workers),
        }


def used(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


def rss(process: psutil.Process) -> float:
    """Megabytes of a process, without its children."""
    return process.memory_info().rss / 1e6


def shown(times: list[float]) -> str:
    p95 = statistics.quantiles(times, n=20)[-1]
    return f"p50 {1e3 * statistics.median(times):7.2f}  p95 {1e3 * p95:7.2f} ms"


class Bench:
    """The servers and clients of one run."""

    def __init__(
        self, worker: WorkerEngine, url: str, server: psutil.Process, echo_url: str,
        echo_server: psutil.Process,
    ) -> None:  # fmt: skip
        self.worker = worker
        self.server, self.echo_server = server, echo_server
        self.http = httpx2.Client(base_url=url, timeout=120)
        self.echo = httpx2.Client(base_url=echo_url, timeout=120)

    def overhead(
        self, name: str, calls: int, bare: Callable[[int], object], path: str,
        request_body: Callable[[int], dict[str, Any]],
    ) -> None:  # fmt: skip
        """The same question to the engine and over HTTP, each in words of its own."""
        spent: dict[str, list[float]] = {"engine": [], "over HTTP": [], "bare echo": []}
        body = self.http.post(path, json=request_body(0)).raise_for_status().content
        bare(1)
        cost = {"server": 0.0, "echo": 0.0}
        for number in range(2, calls + 2):
            begin = time.perf_counter()
            bare(10 * number)
            spent["engine"].append(time.perf_counter() - begin)
            before, begin = used(self.server), time.perf_counter()
            self.http.post(path, json=request_body(10 * number + 1)).raise_for_status()
            spent["over HTTP"].append(time.perf_counter() - begin)
            cost["server"] += used(self.server) - before
            before, begin = used(self.echo_server), time.perf_counter()
            self.echo.post("/", content=body).raise_for_status()
            spent["bare echo"].append(time.perf_counter() - begin)
            cost["echo"] += used(self.echo_server) - before
        print(f"{name} ({calls} calls, {len(body):,} bytes)")
        for place, times in spent.items():
            print(f"  {place:<10} {shown(times)}")
        medians = {place: 1e3 * statistics.median(times) for place, times in spent.items()}
        more = medians["over HTTP"] - medians["engine"]
        print(f"  HTTP adds {more:.2f} ms at the median, {more - medians['bare echo']:.2f} of them "
              "beyond the bare server; processor time of the server "
              f"{1e3 * cost['server'] / calls:.2f} ms, of the bare one "
              f"{1e3 * cost['echo'] / calls:.2f}")  # fmt: skip

    async def crowd(self) -> None:
        """Many clients at once; what is kept is kept after the first calls, then memory stays."""
        errors = 0
        spent: list[float] = []

        async def ask(number: int, calls: int) -> None:
            nonlocal errors
            url = str(self.http.base_url)
            async with httpx2.AsyncClient(base_url=url, timeout=300) as client:
                for call in range(calls):
                    query = f"graph networks {(number * calls + call) % 50}"
                    begin = time.perf_counter()
                    found = await client.post("/v1/search", json={"query": query, "k": 10})
                    spent.append(time.perf_counter() - begin)
                    errors += found.status_code != 200

        def memory() -> float:
            return sum(map(rss, (self.server, *self.server.children(recursive=True))))

        await asyncio.gather(*(ask(number, 20) for number in range(CLIENTS)))
        before, begin = memory(), time.perf_counter()
        spent.clear()
        await asyncio.gather(*(ask(number, CALLS // CLIENTS + 1) for number in range(CLIENTS)))
        print(f"{len(spent):,} searches from {CLIENTS} clients: {errors} errors, "
              f"{time.perf_counter() - begin:.1f} s, {shown(spent)}, memory {before:.0f} -> "
              f"{memory():.0f} MB")  # fmt: skip

    async def many_at_once(self) -> None:
        """What a search takes while `CROWD` clients search at once, and the bare application as
        many times with answers of the same size; both in slices that take turns."""
        body = {"query": "graph networks", "k": 10}
        size = self.http.post("/v1/search", json=body).raise_for_status().content
        spent: dict[str, list[float]] = {"citewell": [], "bare": []}
        wall = {"citewell": 0.0, "bare": 0.0}
        errors = incomplete = 0

        async def ask(client: httpx2.AsyncClient, name: str, numbers: Iterator[int]) -> None:
            nonlocal errors, incomplete
            for number in numbers:
                begin = time.perf_counter()
                if name == "bare":
                    found = await client.post("/", content=size)
                else:
                    wanted = {"query": f"graph networks of kind {number}", "k": 10}
                    found = await client.post("/v1/search", json=wanted)
                spent[name].append(time.perf_counter() - begin)
                errors += found.status_code != 200
                incomplete += name != "bare" and b'"problems"' in found.content

        workers = self.server.children(recursive=True)
        before = used(self.server), sum(map(used, workers))
        limits = httpx2.Limits(max_connections=CROWD, max_keepalive_connections=CROWD)
        urls = {"citewell": str(self.http.base_url), "bare": str(self.echo.base_url)}
        for start in range(0, CROWD_CALLS, SLICE):
            for name, url in urls.items():
                numbers = iter(range(start, start + SLICE))
                # New connections for each slice: both servers close those that are idle for 5 s.
                async with httpx2.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
                    begin = time.perf_counter()
                    await asyncio.gather(*(ask(client, name, numbers) for _ in range(CROWD)))
                    wall[name] += time.perf_counter() - begin
        for name in urls:
            print(f"{len(spent[name]):,} requests from {CROWD} clients at once, {name}: "
                  f"{shown(spent[name])}, {len(spent[name]) / wall[name]:.0f} a second")  # fmt: skip
        calls = len(spent["citewell"])
        print(f"  {errors} errors, {incomplete} with problems; processor time of a search: server "
              f"{1e3 * (used(self.server) - before[0]) / calls:.1f} ms, {len(workers)} workers "
              f"{1e3 * (sum(map(used, workers)) - before[1]) / calls:.1f} ms")  # fmt: skip

    def beside_searches(self, calls: int) -> None:
        """What a check of one reference takes alone, and beside `SEARCHERS` clients that search all
        the time, each in words of its own."""
        entry = (
            "@article{late, title={Long Short-Term Memory}, author={Hochreiter, Sepp}, year={1997}}"
        )
        url = str(self.http.base_url)

        def check(number: int) -> float:
            begin = time.perf_counter()
            body = {"entries": [entry.replace("late", f"late{number}")]}
            self.http.post("/v1/check", json=body).raise_for_status()
            return time.perf_counter() - begin

        check(0)
        print(f"a check of one reference, alone ({calls} calls): "
              f"{shown([check(n) for n in range(1, calls + 1)])}")  # fmt: skip
        ended = threading.Event()
        spent: list[float] = []
        errors: list[int] = []

        async def search(number: int) -> None:
            async with httpx2.AsyncClient(base_url=url, timeout=300) as client:
                call = 0
                while not ended.is_set():
                    call += 1
                    body = {"query": f"neural parsing of kind {number} {call}", "k": 10}
                    begin = time.perf_counter()
                    found = await client.post("/v1/search", json=body)
                    spent.append(time.perf_counter() - begin)
                    if found.status_code != 200:
                        errors.append(found.status_code)

        async def crowd() -> None:
            await asyncio.gather(*(search(number) for number in range(SEARCHERS)))

        thread = threading.Thread(target=asyncio.run, args=(crowd(),))
        thread.start()
        try:
            while len(spent) < SEARCHERS and thread.is_alive():
                time.sleep(0.1)
            begin, before = time.perf_counter(), len(spent)
            times = [check(n) for n in range(calls + 1, 2 * calls + 1)]
            rate = (len(spent) - before) / (time.perf_counter() - begin)
        finally:
            ended.set()
            thread.join()
        print(f"  beside {SEARCHERS} clients that search: {shown(times)}; "
              f"{rate:.0f} searches a second, {len(errors)} errors, {shown(spent)}")  # fmt: skip


def measure(
    options: Options, library: Path, calls: int, only: str, workers: int, clients: int,
    seconds: float,
) -> None:  # fmt: skip
    worker = WorkerEngine(options)
    with (
        contextlib.closing(worker),
        environment(library, workers) as env,
        started(SERVE, env) as (url, server),
        # Its source alone: what this script imports is none of its memory.
        started([sys.executable, "-c", inspect.getsource(echo) + "echo()"], env) as (
            echo_url,
            echo_server,
        ),
    ):
        if seconds:
            asyncio.run(sustained(url, server, echo_url, clients, seconds))
            return
        if only == "crowd":
            asyncio.run(Bench(worker, url, server, echo_url, echo_server).many_at_once())
            return
        if only == "beside":
            Bench(worker, url, server, echo_url, echo_server).beside_searches(calls)
            return
        held = worker.find(Query(text="parsing"), 1, tier="full").hits[0].work.id
        bench = Bench(worker, url, server, echo_url, echo_server)
        bench.overhead(
            "a record", 5 * calls, lambda n: worker.works([held]),
            "/v1/papers", lambda n: {"ids": [held]},
        )  # fmt: skip
        bench.overhead(
            "a search, 10 papers", calls,
            lambda n: worker.find(Query(text=f"neural parsing {n}"), 11, tier="full"),
            "/v1/search", lambda n: {"query": f"neural parsing {n}"},
        )  # fmt: skip

        def passage(n: int) -> str:
            return f"Neural parsers of kind {n} need little data [CITATION]."

        def bare(n: int) -> object:
            (query,) = passage_queries(passage(n), ".md", options)
            return worker.find(query, 5, tier="deep")

        bench.overhead(
            "a passage, 5 papers", calls, bare, "/v1/find", lambda n: {"text": passage(n)}
        )
        workers = server.children(recursive=True)
        print(f"memory: server {rss(server):.0f} MB, its worker {sum(map(rss, workers)):.0f} MB, "
              f"the bare server {rss(echo_server):.0f} MB")  # fmt: skip
        asyncio.run(bench.crowd())
        asyncio.run(bench.many_at_once())
        bench.beside_searches(calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument(
        "--only",
        choices=("all", "beside", "crowd"),
        default="all",
        help="`beside`: the checks alone; `crowd`: 64 clients at once",
    )
    parser.add_argument("--workers", type=int, default=1, help="search processes of the server")
    parser.add_argument("--clients", type=int, default=CROWD, help="of --seconds")
    parser.add_argument(
        "--seconds", type=float, default=0.0,
        help=f"let --clients search for so long (at most {MAX_SECONDS}), and nothing else",
    )  # fmt: skip
    given = parser.parse_args()
    if not 0 <= given.seconds <= MAX_SECONDS or not 1 <= given.clients <= MAX_CONNECTIONS:
        parser.error(f"--seconds is at most {MAX_SECONDS}, --clients at most {MAX_CONNECTIONS}")
    path = given.library or corpus_library()
    if path is None:
        return
    options = replace(Options(), library=LibraryOptions(path=path.parent, name=path.name))
    measure(options, path, given.calls, given.only, given.workers, given.clients, given.seconds)


if __name__ == "__main__":
    main()
