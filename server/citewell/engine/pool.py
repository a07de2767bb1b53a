"""Several worker processes behind one engine interface."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import msgspec

from citewell.engine.protocol import Method, RemoteEngine
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, SearchResult
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.sources.contract import Listener

R = TypeVar("R")

FAILED = 4
"""Number of calls in flight that a process with a failed last call counts as: others are
preferred."""


def open_workers(options: Options) -> WorkerEngine | WorkerPool:
    """The engine of a server with many clients: `serve.workers` search processes over one library.
    Nothing is started yet."""
    engines = [WorkerEngine(options) for _ in range(options.serve.workers)]
    return WorkerPool(engines) if len(engines) > 1 else engines[0]


class WorkerPool(RemoteEngine):
    """`Engine` backed by several child processes. Thread-safe. Sends each call to the one with the
    fewest calls in flight, and a call for the status to the one that searched last, which knows the
    timings."""

    def __init__(self, engines: Sequence[WorkerEngine]) -> None:
        """Set the engines; nothing is started yet."""
        self._engines = list(engines)
        self._load = [0] * len(engines)
        self._penalty = [0] * len(engines)
        self._turn = 0
        self._searched: int | None = None
        """The engine that answered the last search."""
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the children now, in the background."""
        for engine in self._engines:
            engine.start()

    def watch_source_cache(self, listener: Listener) -> None:
        """Register a listener for each request to a source by any of the children."""
        for engine in self._engines:
            engine.watch_source_cache(listener)

    def close(self) -> None:
        """End the children. Later requests fail with `engine-closed`."""
        for engine in self._engines:
            engine.close()

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """The answer. Raises `Cancelled`, or `CitewellError` with the reason."""
        with self._place(method, self._holder(method, arguments)) as place:
            result = self._engines[place].call(method, arguments, cancel)
        self._note(place, result)
        if method.name != RemoteEngine.works.name:
            return result
        # Only the process that queried a source knows its records.
        found = cast(list[Any], result)
        for number, other in enumerate(self._engines):
            if number != place and None in found:
                more = cast(list[Any], other.call(method, arguments, cancel))
                found = [
                    one if one is not None else two for one, two in zip(found, more, strict=True)
                ]
        return cast(R, found)

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """The answer, awaited. Raises `Cancelled`, or `CitewellError` with the reason."""
        with self._place(method) as place:
            result = await self._engines[place].call_async(method, arguments, cancel)
        self._note(place, result)
        return result

    def _holder(self, method: Method[Any, Any], arguments: Any) -> int | None:
        """The engine that knows the paper to learn from: it stores accepted records of sources, and
        only the process that queried a source knows them. None for other calls, or if no engine
        knows it."""
        if method.name != RemoteEngine.learn.name:
            return None
        for number, engine in enumerate(self._engines):
            with suppress(CitewellError):
                if engine.works([arguments.feedback.accepted.id]) != [None]:
                    return number
        return None

    def _note(self, place: int, result: object) -> None:
        if isinstance(result, SearchResult):
            self._searched = place

    @contextmanager
    def _place(self, method: Method[Any, Any], holder: int | None = None) -> Iterator[int]:
        """The number of the engine for a call, `holder` if given; it counts as busy meanwhile."""
        with self._lock:
            count = len(self._engines)
            order = [(self._turn + step) % count for step in range(count)]
            place = min(order, key=lambda number: self._load[number] + self._penalty[number])
            place = place if holder is None else holder
            last = self._searched
            if method.name == RemoteEngine.status.name and last is not None:
                # A busy or failed one is avoided: the status matters more than the timings.
                spared = self._penalty[last] or self._load[last] > self._load[place]
                place = place if spared else last
            self._load[place] += 1
            self._turn = place + 1
        penalty = 0
        try:
            yield place
        except CitewellError:
            penalty = FAILED
            raise
        finally:
            with self._lock:
                self._load[place] -= 1
                self._penalty[place] = penalty
