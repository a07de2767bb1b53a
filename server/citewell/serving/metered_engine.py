"""An engine whose calls, stages of searches and requests to sources are counted."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from citewell.engine.methods import Caller, Method, RemoteMethods
from citewell.engine.pool import WorkerPool
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, SearchResult
from citewell.model.cancel import Cancel, Cancelled
from citewell.serving.metrics import Metrics

R = TypeVar("R")


class MeteredEngine(RemoteMethods):
    """An engine over another one, whose calls `metrics` counts."""

    def __init__(self, engine: WorkerEngine | WorkerPool, metrics: Metrics) -> None:
        super().__init__(_MeteredCaller(engine.caller, metrics))
        self._engine = engine
        engine.watch_source_cache(metrics.source_cache)

    def close(self) -> None:
        """End the search processes."""
        self._engine.close()


class _MeteredCaller:
    """Counts each call and its outcome."""

    def __init__(self, caller: Caller, metrics: Metrics) -> None:
        self._caller = caller
        self._metrics = metrics

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """The answer. Raises `Cancelled`, or `CitewellError` with the reason."""
        try:
            result = self._caller.call(method, arguments, cancel)
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
            result = await self._caller.call_async(method, arguments, cancel)
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
