"""Counts and times of a server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STAGE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """The metrics of one server. Thread-safe.

    The labels are closed sets: endpoints, methods of the engine, stages, sources and problem codes.
    """

    def __init__(self) -> None:
        # Not needed by a server without metrics.
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            disable_created_metrics,
        )

        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "citewell_requests", "Requests by endpoint and status.",
            ("endpoint", "method", "status"), registry=registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "citewell_request_seconds", "Time until the end of the answer.", ("endpoint",),
            buckets=REQUEST_SECONDS, registry=registry,
        )  # fmt: skip
        self._calls = Counter(
            "citewell_engine_calls", "Calls of the search processes by outcome.",
            ("call", "outcome"), registry=registry,
        )  # fmt: skip
        self._stages = Histogram(
            "citewell_stage_seconds", "Time of the stages of searches.", ("stage",),
            buckets=STAGE_SECONDS, registry=registry,
        )  # fmt: skip
        self._dropped = Counter(
            "citewell_dropped", "Parts of searches that failed or were late, by problem.",
            ("code",), registry=registry,
        )  # fmt: skip
        self._cache = Counter(
            "citewell_source_cache",
            "Requests to sources by how the cache on disk answered them.",
            ("source", "outcome"), registry=registry,
        )  # fmt: skip
        Gauge(
            "process_start_time_seconds", "Unix time of the start.", registry=registry
        ).set_to_current_time()

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a value that is computed when the metrics are read."""
        from prometheus_client import Gauge

        Gauge(name, about, registry=self._registry).set_function(value)

    def request(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count an answered or rejected request."""
        self._requests.labels(endpoint, method, status).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def call(self, name: str, outcome: str) -> None:
        """Count a call of a search process; `outcome` is "ok" or a problem's code."""
        self._calls.labels(name, outcome).inc()

    def search(self, milliseconds: Mapping[str, float], dropped: Iterable[str]) -> None:
        """Count the stages of one search, and the codes of dropped retrievers."""
        for stage, spent in milliseconds.items():
            self._stages.labels(stage).observe(spent / 1e3)
        for code in dropped:
            self._dropped.labels(code).inc()

    def source_cache(self, source: str, outcome: str) -> None:
        """Count a request to a source: `outcome` is one of `sources.cache_counts.Outcome`."""
        self._cache.labels(source, outcome).inc()

    def text(self) -> str:
        """Return all metrics in the text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry).decode()


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

    from prometheus_client import CONTENT_TYPE_LATEST

    async def shown(request: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST, headers=DATA_HEADERS)

    return [Route("/metrics", shown)]
