"""Clients that search for a given time: errors, times and the memory of each process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import time
from collections import Counter
from collections.abc import Iterator

import httpx2
import psutil

PARTS = 10
"""Of the time, after each of which a line is printed."""
BARE_PARTS = 30
"""The bare application is asked three times for this part of the time."""
WARM_UP = 4
"""Searches of each client before anything is measured."""
TIMEOUT = 120.0
TOPICS = (
    "parsing", "graph networks", "machine translation", "optimal transport", "question answering",
    "image segmentation", "reinforcement learning", "language models", "speech recognition",
    "causal inference", "federated learning", "summarization", "variational inference",
    "knowledge graphs", "word embeddings", "object detection", "adversarial examples",
)  # fmt: skip
APPROACHES = ("with little data", "for low-resource languages", "by attention", "at scale",
              "with guarantees", "from unlabelled text", "on mobile devices")  # fmt: skip

Memory = dict[str, tuple[float, float]]


def memory_of(server: psutil.Process) -> Memory:
    """Megabytes that the server and each search process has for itself, and its share of all that
    it maps (PSS; of Linux), by name and process id."""
    found = {}
    for one in (server, *server.children(recursive=True)):
        kind = "server" if one is server else "search process"
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            full = one.memory_full_info()
            found[f"{kind} {one.pid}"] = (full.uss / 1e6, getattr(full, "pss", float("nan")) / 1e6)
    return found


def shown(times: list[float]) -> str:
    if not times:
        return "no answer"
    p95 = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return f"p50 {1e3 * statistics.median(times):8.1f}  p95 {1e3 * p95:8.1f} ms"


class Load:
    """What clients of one server got, over all parts of the time."""

    def __init__(self, url: str, path: str, clients: int, body: bytes = b"") -> None:
        """With a `body` each request sends it; without one each is another search."""
        self._url, self._path, self._clients, self._body = url, path, clients, body
        self._numbers = itertools.count()
        self.times: list[float] = []
        self.seconds = 0.0
        self.problems: Counter[str] = Counter()
        """Of answers, by code, such as a retriever that was late."""
        self.errors: Counter[str] = Counter()
        """By status, or by the name of the exception."""

    async def run(self, seconds: float, calls: int | None = None) -> None:
        """Ask for so long, or so often by each client. Requests that were sent in time are waited
        for."""
        end = time.perf_counter() + seconds
        limits = httpx2.Limits(
            max_connections=self._clients, max_keepalive_connections=self._clients
        )
        begin = time.perf_counter()
        # New connections for each part: both servers close those that are idle for 5 s.
        async with httpx2.AsyncClient(base_url=self._url, timeout=TIMEOUT, limits=limits) as client:

            async def ask() -> None:
                numbers: Iterator[int] = itertools.count() if calls is None else iter(range(calls))
                for _ in numbers:
                    if time.perf_counter() >= end:
                        return
                    await self._one(client)

            await asyncio.gather(*(ask() for _ in range(self._clients)))
        self.seconds += time.perf_counter() - begin

    async def _one(self, client: httpx2.AsyncClient) -> None:
        begin = time.perf_counter()
        try:
            if self._body:
                found = await client.post(self._path, content=self._body)
            else:
                found = await client.post(self._path, json=self._question())
        except httpx2.HTTPError as error:
            self.errors[type(error).__name__] += 1
        else:
            if found.status_code != 200:
                self.errors[str(found.status_code)] += 1
            elif not self._body:
                self.problems.update(one["code"] for one in found.json().get("problems", ()))
        self.times.append(time.perf_counter() - begin)

    def _question(self) -> dict[str, object]:
        number = next(self._numbers)
        topic = TOPICS[number % len(TOPICS)]
        approach = APPROACHES[number // len(TOPICS) % len(APPROACHES)]
        return {"query": f"{topic} {approach} {number}", "k": 10}

    def summary(self) -> str:
        errors = sum(self.errors.values())
        kinds = "".join(f" ({kind}: {count})" for kind, count in self.errors.most_common())
        return (
            f"{len(self.times):,} requests, {errors} errors{kinds}, {shown(self.times)}, "
            f"{len(self.times) / self.seconds:.1f} a second"
        )


async def sustained(
    url: str, server: psutil.Process, bare_url: str, clients: int, seconds: float
) -> None:
    """Search with `clients` for `seconds` in two halves, and ask the bare application before,
    between and after them. Prints what came of it, part by part, and the memory at the beginning, in
    the middle and at the end. Requests in flight at the end of a half are waited for."""
    async with httpx2.AsyncClient(base_url=url, timeout=TIMEOUT) as client:
        first = await client.post("/v1/search", json={"query": "graph networks", "k": 10})
        answer = first.raise_for_status().content
    await Load(url, "/v1/search", clients).run(TIMEOUT, WARM_UP)
    load, bare = Load(url, "/v1/search", clients), Load(bare_url, "/", clients, answer)
    memories = [memory_of(server)]

    async def watch() -> None:
        for _ in range(PARTS // 2):
            seen = len(load.times)
            await asyncio.sleep(seconds / PARTS)
            memories.append(await asyncio.to_thread(memory_of, server))
            part = load.times[seen:]
            held = "; ".join(f"{own:.1f}, {pss:.1f}" for own, pss in memories[-1].values())
            print(f"  {len(memories) - 1:2}/{PARTS}: {len(part):,} requests, {shown(part)}, {held} MB",
                  flush=True)  # fmt: skip

    print(f"{clients} clients, {seconds:g} s after {WARM_UP} searches of each; of the server and each "
          "search process private memory and PSS")  # fmt: skip
    await bare.run(seconds / BARE_PARTS)
    for _ in range(2):
        await asyncio.gather(load.run(seconds / 2), watch())
        await bare.run(seconds / BARE_PARTS)
    print(f"citewell: {load.summary()}; problems of answers: "
          + (", ".join(f"{code} {n}" for code, n in load.problems.items()) or "none"))  # fmt: skip
    print(f"bare:     {bare.summary()}")
    print("memory in MB, private and PSS: at the beginning, in the middle, at the end")
    points = (memories[0], memories[PARTS // 2], memories[-1])
    for name in dict.fromkeys(name for point in points for name in point):
        values = [point.get(name) for point in points]
        cells = [
            "         none" if one is None else f"{one[0]:6.1f} {one[1]:6.1f}" for one in values
        ]
        print(f"  {name:<22} {'   '.join(cells)}")
    if points[0].keys() != points[-1].keys():
        print("  a search process ended and was started again")
