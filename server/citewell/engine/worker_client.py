"""The front end's side of the worker process: an `Engine` that survives the death of its engine.

Every call is numbered; a reader thread settles futures as replies arrive, a writer thread keeps a
full pipe from blocking the caller. When the child dies the calls in flight fail with
`engine-restarted`, and the next call starts another child.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine import protocol
from citewell.engine.child import Child, ChildEndedError
from citewell.engine.contract import EngineStatus, Tier
from citewell.engine.methods import Lane, Method, RemoteMethods
from citewell.engine.which_library import libraries_below, snapshot_of, which_library
from citewell.model import CitewellError, Problem, Query, SearchResult
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.sources.answers import Listener, Outcome

# Keeping one worker process alive: it starts at the first need, a dead one is replaced, and one
# that dies again and again is given longer and longer rests.

logger = logging.getLogger(__name__)

FREE_DEATHS = 3
"""Number of children that may die in a row before the start of the next one is delayed."""
MAX_DELAY = 60.0

CLOSED = Problem("engine-closed", "The search engine is closed.", "Restart the language server.")


class Supervisor:
    """Of the worker process of one engine. Safe across threads."""

    def __init__(self, options: Options, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._options = options
        self._command = tuple(command) if command else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._deaths = 0
        self._not_before = 0.0
        self._closed = False
        self._last_words = ""
        self._begun = False
        self.on_look_up: Listener | None = None
        """Called for each request to a source that any of the children counts."""

    @property
    def options(self) -> Options:
        """What the present child, or the next one, answers with."""
        return self._options

    @property
    def begun(self) -> bool:
        """True once a child was wanted, whether it lives or not."""
        return self._begun

    def running(self) -> Child | None:
        """The child, if there is one that lives."""
        child = self._child
        return child if child is not None and child.alive else None

    def ensure(self) -> Child:
        """The child, or another one. Raises `CitewellError` when it must not start, or not yet."""
        self._begun = True
        with self._lock:
            if self._closed:
                raise CitewellError(CLOSED)
            if self._child is not None and self._child.alive:
                return self._child
            crashed = self._child is not None
            if self._child is not None:
                self._record_death(self._child)
                _end(self._child)
                self._child = None
            if (wait := self._not_before - time.monotonic()) > 0:
                raise CitewellError(self._down(wait))
            try:
                # A file with a wrong byte may be what it died of.
                self._child = Child(
                    self._options, self._command, verify=crashed, on_look_up=self._look_up
                )
            except OSError as error:
                self._deaths += 1
                self._last_words = str(error)
                self._delay()
                raise CitewellError(self._down(self._not_before - time.monotonic())) from error
            self._watch(self._child)
            return self._child

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""
        self._begun = True

        def quietly() -> None:
            try:
                self.ensure()
            except CitewellError as error:
                # One that was closed before it started is no fault.
                if error.problem is not CLOSED:
                    logger.warning("%s", error)

        threading.Thread(target=quietly, name="citewell-spawn", daemon=True).start()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        with self._lock:
            if options == self._options:
                return False
            self._options = options
            self._deaths, self._not_before = 0, 0.0
            child, self._child = self._child, None
        if child is not None:
            threading.Thread(target=child.retire, daemon=True).start()
            self.start()
        return child is not None

    def stop(self) -> None:
        """End the child at once, whatever it does; what is in flight fails with `engine-restarted`,
        and the next request starts another child."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            _end(child)

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()

    def _look_up(self, source: str, outcome: Outcome) -> None:
        if self.on_look_up is not None:
            self.on_look_up(source, outcome)

    def _watch(self, child: Child) -> None:
        """End the child, from a thread of its own, once nothing was asked of it for the time that
        the settings name."""
        seconds = 60 * self._options.retrieval.idle_minutes
        # Records of sources that were offered are known to the process that asked for them.
        if not seconds or self._options.sources.allow:
            return

        def until_idle() -> None:
            while not child.wait_for_end(max(seconds - child.silent_for, seconds / 100)):
                with self._lock:
                    is_idle = self._child is child and child.refuse_if_idle(seconds)
                    if is_idle:
                        self._child = None
                if is_idle:
                    logger.info("The engine process %d ends: it is idle", child.pid)
                    child.close()
                    return

        threading.Thread(target=until_idle, name="citewell-idle", daemon=True).start()

    def _record_death(self, child: Child) -> None:
        """Count the death of a child that never answered; forgive the others."""
        self._deaths = 1 if child.answered else self._deaths + 1
        self._last_words = child.last_words
        logger.warning("The engine process %d ended (%s)", child.pid, child.last_words or "no word")
        self._delay()

    def _delay(self) -> None:
        if self._deaths >= FREE_DEATHS:
            seconds = min(MAX_DELAY, 2.0 ** (self._deaths - FREE_DEATHS + 1))
            self._not_before = time.monotonic() + seconds

    def _down(self, wait: float) -> Problem:
        words = f" Last output: {self._last_words}" if self._last_words else ""
        return Problem(
            "engine-down",
            f"The search engine stopped {self._deaths} times in a row.{words}",
            f"Run `citewell doctor`. Next attempt in {max(1, round(wait))} s.",
        )


def _end(child: Child) -> None:
    """Kill a child, and wait elsewhere until the system has let go of it."""
    child.kill()
    threading.Thread(target=child.close, daemon=True).start()


# Numbered calls to the worker process and their results: each call has a time limit, and is
# cancelled in the child when its caller no longer waits.

SECONDS: dict[Lane, float] = {
    "quick": 30.0,
    "fast": 30.0,
    "full": 180.0,
    "batch": 180.0,
    "deep": 180.0,
    "check": 180.0,
    "online": 180.0,
    "llm": 180.0,
}
"""How long a request may take before it is given up."""
STUCK_SECONDS = 25.0
STARTING_SECONDS = 180.0
"""Time for both, for a child that has answered nothing yet: at its first start it unpacks what
ships, which takes long on a slow machine, and one that is ended begins again."""

RESTARTED = Problem(
    "engine-restarted",
    "The search engine stopped during this request.",
    "Try again: it restarts by itself.",
)
LATE = Problem(
    "engine-late",
    "The search engine did not answer in time.",
    "Try again; if the problem persists, run `citewell doctor`.",
)

R = TypeVar("R")


class Exchange:
    """With whatever child the supervisor keeps. Safe across threads."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._numbers = itertools.count(1)

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """Send and await the result. Raises `CitewellError` with the reason; cancelling the task
        cancels the call in the child."""
        call = self._numbered(method, arguments, cancel)
        started = time.monotonic()
        try:
            # Starting a process takes milliseconds, which a loop that answers hovers has not.
            child = self._supervisor.running()
            try:
                if child is None:
                    child = await asyncio.to_thread(self._supervisor.ensure)
                future = child.request(call, method.decode_result)
            except ChildEndedError:  # it ended before the call was sent, because it was idle
                child = await asyncio.to_thread(self._supervisor.ensure)
                future = child.request(call, method.decode_result)
            limit = self._limit(child, method, arguments)
            limit = limit if cancel is None else min(limit, cancel.remaining)
            try:
                # `wait_for` of Python 3.11 loses a cancel that comes together with the reply.
                async with asyncio.timeout(limit):
                    result = await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                child.cancel(call.id)
                raise
            except TimeoutError:
                self._give_up(child, call.id, started)
                raise CitewellError(LATE) from None
            return _unwrapped(result)
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error
        except Cancelled:
            raise asyncio.CancelledError from None

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """Send and wait in this thread. Raises `Cancelled`, or `CitewellError` with the reason."""
        try:
            return self._call(method, arguments, cancel)
        except CitewellError as error:
            if not method.retried or error.problem.code != RESTARTED.code:
                raise
            return self._call(method, arguments, cancel)

    def _call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        if cancel is not None:
            cancel.check()
        call = self._numbered(method, arguments, cancel)
        child = self._supervisor.ensure()
        deadline = time.monotonic() + self._limit(child, method, arguments)
        try:
            try:
                future = child.request(call, method.decode_result)
            except ChildEndedError:  # it ended before the call was sent, because it was idle
                child = self._supervisor.ensure()
                future = child.request(call, method.decode_result)
            return _unwrapped(self._settle(child, call.id, future, deadline, cancel))
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error

    def _numbered(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> protocol.Call:
        has_deadline = cancel is not None and cancel.deadline is not None
        seconds = cancel.remaining if cancel is not None and has_deadline else None
        packed = protocol.packed(arguments)
        return protocol.Call(next(self._numbers), method.name, packed, seconds)

    def _settle(
        self,
        child: Child,
        number: int,
        future: Future[R],
        deadline: float,
        cancel: Cancel | None,
    ) -> R:
        # Cancel has no call-back, so a caller that may cancel is asked every few milliseconds.
        step = 3600.0 if cancel is None else 0.02
        started = time.monotonic()
        while True:
            try:
                return future.result(max(0.0, min(step, deadline - time.monotonic())))
            except FutureCancelled as error:
                raise Cancelled from error
            except TimeoutError:
                if cancel is not None and cancel.is_set:
                    child.cancel(number)
                    raise Cancelled from None
                if time.monotonic() >= deadline:
                    self._give_up(child, number, started)
                    raise CitewellError(LATE) from None

    def _give_up(self, child: Child, number: int, started: float) -> None:
        """Drop a late request; a child that was silent for too long is stuck and is killed."""
        child.cancel(number)
        patience = STUCK_SECONDS if child.answered else STARTING_SECONDS
        if min(child.silent_for, time.monotonic() - started) >= patience:
            child.kill()

    def _limit(self, child: Child, method: Method[Any, R], arguments: msgspec.Struct) -> float:
        """Seconds that a call may take; what the language model may take is included."""
        seconds = SECONDS[method.lane(arguments)]
        if not child.answered:
            seconds = max(seconds, STARTING_SECONDS)
        return seconds + method.seconds(arguments, self._supervisor.options)


def _unwrapped(result: R | protocol.CancelledReply | protocol.FailedReply) -> R:
    if isinstance(result, protocol.CancelledReply):
        raise Cancelled
    if isinstance(result, protocol.FailedReply):
        raise CitewellError(result.problem)
    return result


class WorkerEngine(RemoteMethods):
    """`Engine` backed by a child process, also usable from an event loop. Thread-safe. A problem of
    the process is reported in the result, except that looking up records raises it."""

    def __init__(self, options: Options, *, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._supervisor = Supervisor(options, command)
        super().__init__(Exchange(self._supervisor))

    async def find_async(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", seconds: float | None = None
    ) -> SearchResult:
        """`find` without blocking the event loop, for at most `seconds`; cancelling the task also
        cancels the search in the child."""
        find = WorkerEngine.find
        return await find.call_async(self.caller, query, k, tier=tier, cancel=Cancel(seconds))

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        self._supervisor.close()

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""
        self._supervisor.start()

    def watch_source_cache(self, listener: Listener) -> None:
        """Call `listener` with the source and the outcome of each request to a source, where the
        settings ask for metrics; before the answer of the call that waited for it."""
        self._supervisor.on_look_up = listener

    def stop(self) -> None:
        """End the child at once; what is in flight fails with `engine-restarted`."""
        self._supervisor.stop()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        return self._supervisor.configure(options)

    @property
    def begun(self) -> bool:
        """True once the child was wanted, whether it lives or not."""
        return self._supervisor.begun

    def status_at_rest(self) -> EngineStatus:
        """What is known without a child."""

        return status_at_rest(self._supervisor.options)

    @property
    def pid(self) -> int:
        """Process id of the child; 0 when there is none."""
        child = self._supervisor.running()
        return child.pid if child is not None else 0


# What is known of the library while no process has it open: read from its manifest alone.


def status_at_rest(options: Options) -> EngineStatus:
    """Library, number of papers and allowed sources. Opens no index, and loads no model.

    A work that the library and one below it both hold counts twice."""
    from citewell.sources.registry import allowed

    names, problems = allowed(options.sources.allow)
    try:
        path = which_library(options)
        snapshot = current_snapshot(path)
        works = read_manifest(path, snapshot).works
    except CitewellError as error:
        return EngineStatus(sources=names, problems=(error.problem, *problems))
    for lower in libraries_below(options):
        with suppress(CitewellError):
            works += read_manifest(lower, current_snapshot(lower)).works
            snapshot = snapshot_of(options)
    return EngineStatus(str(path), snapshot, works, sources=names, problems=problems)
