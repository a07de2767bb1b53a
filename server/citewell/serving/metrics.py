"""Counts and times of a server in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citewell.engine.pool import WorkerPool
from citewell.engine.protocol import Method, RemoteEngine
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, SearchResult
from citewell.model.cancel import Cancel, Cancelled
from citewell.serving.problem_json import DATA_HEADERS

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STAGE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
MAX_SERIES = 500
"""Maximum label combinations of one metric; further ones are counted under `other`."""

Labels = tuple[str, ...]
Gauge = Callable[[], float]


class _Series:
    """The values of one metric by label."""

    def __init__(self, name: str, about: str, labels: Labels, bounds: Sequence[float] = ()) -> None:
        self.name, self.about, self.labels, self.bounds = name, about, labels, bounds
        self.values: dict[Labels, list[float]] = {}
        """A counter's value; a histogram's buckets, not cumulated, and their sum."""

    def row(self, labels: Labels) -> list[float]:
        if labels not in self.values and len(self.values) >= MAX_SERIES:
            labels = ("other",) * len(labels)
        size = len(self.bounds) + 2 if self.bounds else 1
        return self.values.setdefault(labels, [0.0] * size)

    def lines(self) -> Iterable[str]:
        yield f"# HELP {self.name} {self.about}"
        yield f"# TYPE {self.name} {'histogram' if self.bounds else 'counter'}"
        for labels, row in sorted(self.values.items()):
            pairs = dict(zip(self.labels, labels, strict=True))
            if not self.bounds:
                yield f"{self.name}{_labels(pairs)} {_number(row[0])}"
                continue
            total = 0.0
            for bound, count in zip((*self.bounds, float("inf")), row, strict=False):
                total += count
                bucket = _labels({**pairs, "le": _number(bound)})
                yield f"{self.name}_bucket{bucket} {_number(total)}"
            yield f"{self.name}_sum{_labels(pairs)} {_number(row[-1])}"
            yield f"{self.name}_count{_labels(pairs)} {_number(total)}"


class Metrics:
    """The metrics of one server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = _Series(
            "citewell_requests_total", "Requests by endpoint and status.",
            ("endpoint", "method", "status"),
        )  # fmt: skip
        self._seconds = _Series(
            "citewell_request_seconds", "Time until the end of the answer.", ("endpoint",),
            REQUEST_SECONDS,
        )  # fmt: skip
        self._calls = _Series(
            "citewell_engine_calls_total", "Calls of the search processes by outcome.",
            ("call", "outcome"),
        )  # fmt: skip
        self._stages = _Series(
            "citewell_stage_seconds", "Time of the stages of searches.", ("stage",), STAGE_SECONDS
        )
        self._dropped = _Series(
            "citewell_dropped_total", "Parts of searches that failed or were late, by problem.",
            ("code",),
        )  # fmt: skip
        self._cache = _Series(
            "citewell_source_cache_total",
            "Requests to sources by how the cache on disk answered them.",
            ("source", "outcome"),
        )
        self._gauges: dict[str, tuple[str, Gauge]] = {}
        began = time.time()
        self.gauge("process_start_time_seconds", "Unix time of the start.", lambda: began)

    def gauge(self, name: str, about: str, value: Gauge) -> None:
        """Add a value that is computed when the metrics are read."""
        self._gauges[name] = (about, value)

    def request(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count an answered or rejected request."""
        with self._lock:
            self._requests.row((endpoint, method, str(status)))[0] += 1
            _observe(self._seconds, (endpoint,), seconds)

    def call(self, name: str, outcome: str) -> None:
        """Count a call of a search process; `outcome` is "ok" or a problem's code."""
        with self._lock:
            self._calls.row((name, outcome))[0] += 1

    def search(self, milliseconds: Mapping[str, float], dropped: Iterable[str]) -> None:
        """Count the stages of one search, and the codes of dropped retrievers."""
        with self._lock:
            for stage, spent in milliseconds.items():
                _observe(self._stages, (stage,), spent / 1e3)
            for code in dropped:
                self._dropped.row((code,))[0] += 1

    def source_cache(self, source: str, outcome: str) -> None:
        """Count a request to a source: `outcome` is one of `sources.cache_counts.Outcome`."""
        with self._lock:
            self._cache.row((source, outcome))[0] += 1

    def text(self) -> str:
        """All metrics in the text format."""
        found: list[str] = []
        with self._lock:
            for series in (
                self._requests,
                self._seconds,
                self._calls,
                self._stages,
                self._dropped,
                self._cache,
            ):
                found += series.lines()
        for name, (about, value) in self._gauges.items():
            found += [
                f"# HELP {name} {about}",
                f"# TYPE {name} gauge",
                f"{name} {_number(value())}",
            ]
        return "\n".join(found) + "\n"


def _observe(series: _Series, labels: Labels, value: float) -> None:
    row = series.row(labels)
    row[bisect_left(series.bounds, value)] += 1
    row[-1] += value


def _labels(pairs: Mapping[str, str]) -> str:
    escaped = (f'{name}="{_escaped(value)}"' for name, value in pairs.items())
    return "{" + ",".join(escaped) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(round(value, 6))


# An engine that counts calls, stages of searches and requests to sources.

R = TypeVar("R")


class MeteredEngine(RemoteEngine):
    """Wraps an engine and counts its calls and their outcomes in `metrics`."""

    def __init__(self, engine: WorkerEngine | WorkerPool, metrics: Metrics) -> None:
        self._engine = engine
        self._metrics = metrics
        engine.watch_source_cache(metrics.source_cache)

    def close(self) -> None:
        """End the search processes."""
        self._engine.close()

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """The answer. Raises `Cancelled`, or `CitewellError` with the reason."""
        try:
            result = self._engine.call(method, arguments, cancel)
        except (CitewellError, Cancelled) as error:
            self._failed(method, error)
            raise
        self._answered(method, result)
        return result

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """The answer, awaited. Raises `Cancelled`, or `CitewellError` with the reason."""
        try:
            result = await self._engine.call_async(method, arguments, cancel)
        except (CitewellError, Cancelled) as error:
            self._failed(method, error)
            raise
        self._answered(method, result)
        return result

    def _failed(self, method: Method[Any, Any], error: CitewellError | Cancelled) -> None:
        code = error.problem.code if isinstance(error, CitewellError) else "cancelled"
        self._metrics.call(method.name, code)

    def _answered(self, method: Method[Any, Any], result: object) -> None:
        self._metrics.call(method.name, "ok")
        for one in result if isinstance(result, list) else [result]:
            if isinstance(one, SearchResult):
                self._metrics.search(one.timings, [problem.code for problem in one.dropped])


# The address of a server's metrics.


def metrics_routes(metrics: Metrics | None) -> list[Route]:
    """The route of `GET /metrics`; empty without metrics, so that the path is unknown."""
    if metrics is None:
        return []

    async def shown(request: Request) -> Response:
        return Response(metrics.text(), media_type=MEDIA_TYPE, headers=DATA_HEADERS)

    return [Route("/metrics", shown)]
