"""The front end's side of the worker process: an `Engine` that survives the death of the worker.

Every call is numbered; a reader thread settles futures as replies arrive, a writer thread keeps a
full pipe from blocking the caller. When the child dies the calls in flight fail with
`engine-restarted`, and the next call starts another child.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import Any, BinaryIO, TypeVar

import msgspec

from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine import protocol
from citewell.engine.contract import EngineStatus
from citewell.engine.processes import worker_command, worker_environment
from citewell.engine.protocol import Lane, Method, RemoteEngine
from citewell.engine.which_library import libraries_below, snapshot_of, which_library
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.system.child_process import start_child
from citewell.options import Options
from citewell.sources.contract import Listener, Outcome

logger = logging.getLogger(__name__)

R = TypeVar("R")

MAX_WAITING = 1000
"""Maximum number of frames waiting for a child that does not read."""
FREE_DEATHS = 3
"""Number of children that may die in a row before the start of the next one is delayed."""
MAX_DELAY = 60.0
SECONDS: dict[Lane, float] = {
    "quick": 30.0, "fast": 30.0, "full": 180.0, "batch": 180.0,
    "deep": 180.0, "check": 180.0, "online": 180.0, "llm": 180.0,
}  # fmt: skip
"""Time limit of a request."""
STUCK_SECONDS = 25.0
STARTING_SECONDS = 180.0
"""Minimum time limit for a child without an answer so far: its first start unpacks shipped files,
which is slow on some machines, and a killed one starts over."""

CLOSED = Problem("engine-closed", "The search engine is closed.", "Restart the language server.")
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


class ChildEndedError(CitewellError):
    """The process ended before it answered, or before the call was sent."""

    def __init__(self) -> None:
        super().__init__(RESTARTED)


class Child:
    """A running worker: pipes, threads, requests in flight. It is running once constructed, and
    never restarted. Thread-safe."""

    def __init__(
        self, options: Options, command: Sequence[str], on_look_up: Listener, *, verify: bool
    ) -> None:
        """Start the process. Raises `OSError` when that fails. With `verify`, it verifies the
        checksums of the library before it answers. `on_look_up` is called, on the reading thread,
        for each request to a source that the process counts."""
        self._on_look_up = on_look_up
        self._process = start_child(command, environment=worker_environment(), is_urgent=False)
        self.pid = self._process.pid
        self.answered = False
        self._last_words = ""
        self._lock = threading.Lock()
        self._pending: dict[int, tuple[Future[Any], Any]] = {}
        """By number of the call: its future, and the type of its result."""
        self._outbox: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._gone = threading.Event()
        self._last_frame_at = time.monotonic()
        self._outbox.put_nowait(protocol.encode(protocol.Hello(protocol.VERSION, options, verify)))
        process = self._process
        self._logger, *others = (
            threading.Thread(target=target, args=(pipe,), daemon=True)
            for target, pipe in (
                (self._log, process.stderr),
                (self._write, process.stdin),
                (self._read, process.stdout),
            )
        )
        for thread in (self._logger, *others):
            thread.start()

    @property
    def alive(self) -> bool:
        """False once the process ended or its pipe closed."""
        return not self._gone.is_set() and self._process.poll() is None

    @property
    def silent_for(self) -> float:
        """Seconds since the last frame arrived (or since the start)."""
        return time.monotonic() - self._last_frame_at

    @property
    def last_words(self) -> str:
        """The last line that the process wrote to stderr."""
        if self._gone.is_set():
            self._logger.join(0.2)
        return self._last_words

    def request(self, call: protocol.Call, result: Any) -> Future[Any]:
        """Send a call. The future holds a value of the type `result`, or raises `Cancelled`, or
        `CitewellError` with the reason. Never blocks. Raises `ChildEndedError`."""
        try:
            frame = protocol.encode(call)
        except protocol.BrokenFrameError as error:
            raise CitewellError(
                Problem("request-too-large", f"The search is too large: {error}.")
            ) from error
        future: Future[Any] = Future()
        with self._lock:
            if self._gone.is_set():
                raise ChildEndedError
            self._pending[call.id] = (future, result)
        if not self._put(frame):
            raise ChildEndedError
        return future

    def wait_for_end(self, seconds: float) -> bool:
        """Wait until the process is gone, at most `seconds`; return whether it is."""
        return self._gone.wait(seconds)

    def refuse_if_idle(self, seconds: float) -> bool:
        """True if no request is in flight and the last reply is `seconds` old: every later request
        then fails with `ChildEndedError`, unsent."""
        with self._lock:
            if self._pending or self.silent_for < seconds:
                return False
            self._gone.set()
            return True

    def cancel(self, number: int) -> None:
        """Notify the child that request `number` was abandoned; its reply is dropped."""
        with self._lock:
            pending = self._pending.pop(number, None)
        if pending is not None:
            pending[0].cancel()
            self._put(protocol.encode(protocol.CancelRequest(number)))

    def kill(self) -> None:
        """Kill the process at once, and wait for its end on another thread; requests in flight fail
        with `engine-restarted`."""
        self._process.kill()
        threading.Thread(target=self.close, daemon=True).start()

    def retire(self, seconds: float = 30.0) -> None:
        """Let the requests in flight end, then close."""
        limit = time.monotonic() + seconds
        while self._pending and self.alive and time.monotonic() < limit:
            time.sleep(0.05)
        self.close()

    def close(self) -> None:
        """Close the child's input, which ends it; kill it if it stays."""
        self._put(None)
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _put(self, frame: bytes | None) -> bool:
        """Queue a frame for writing, or None to close the input. A child that reads none is
        killed."""
        try:
            self._outbox.put_nowait(frame)
        except queue.Full:
            self._process.kill()
            return False
        return True

    def _write(self, pipe: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (frame := self._outbox.get()) is not None:
                pipe.write(frame)
                pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _read(self, pipe: BinaryIO) -> None:
        try:
            while (body := protocol.read_frame(pipe)) is not None:
                self._last_frame_at = time.monotonic()
                message = protocol.decode(protocol.FromWorker, body)
                if isinstance(message, protocol.CacheLookUp):
                    self._on_look_up(message.source, message.outcome)
                    continue
                # A cancelled request is answered before the engine is open.
                self.answered |= not isinstance(message, protocol.CancelledReply)
                self._settle(message)
        except (OSError, ValueError):
            pass
        except protocol.BrokenFrameError as error:
            logger.error("The engine process sent a broken frame: %s", error)
            self._process.kill()
        finally:
            self._end()
            with contextlib.suppress(OSError):
                pipe.close()

    def _settle(self, reply: protocol.Reply) -> None:
        with self._lock:
            future, kind = self._pending.get(reply.id, (None, None))
        if future is None:
            return
        result: Any = None
        error: Exception | None = None
        if isinstance(reply, protocol.Answer):
            result = protocol.decode(kind, reply.result)
        elif isinstance(reply, protocol.FailedReply):
            error = CitewellError(reply.problem)
        else:
            error = Cancelled()
        with self._lock:
            self._pending.pop(reply.id, None)
        if future.set_running_or_notify_cancel():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _end(self) -> None:
        with self._lock:
            self._gone.set()
            pending, self._pending = list(self._pending.values()), {}
        self._process.poll()
        for future, _ in pending:
            if future.set_running_or_notify_cancel():
                future.set_exception(ChildEndedError())
        # A full queue means that the writer is stuck in a pipe that just broke, and ends by its
        # error.
        self._put(None)

    def _log(self, pipe: BinaryIO) -> None:
        with pipe:
            for raw in pipe:
                line = raw.decode("utf-8", "replace").rstrip()
                if line:
                    self._last_words = line[:500]
                    logger.info("engine %d: %s", self.pid, line)


class WorkerEngine(RemoteEngine):
    """`Engine` backed by a child process, also usable from an event loop. Thread-safe. A problem of
    the process is reported in the result, except that looking up records raises it.

    The process starts on demand. A dead one is replaced, with increasing delays after several
    deaths in a row.
    """

    def __init__(self, options: Options, *, command: Sequence[str] | None = None) -> None:
        """Set the options; nothing is started yet. `command` replaces the worker's command line
        (for tests)."""
        self._options = options
        self._command = tuple(command or worker_command())
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._deaths = 0
        self._not_before = 0.0
        self._closed = False
        self._last_words = ""
        self._on_look_up: Listener = lambda source, outcome: None
        self.begun = False
        """True once the child was needed, alive or not."""

    @property
    def pid(self) -> int:
        """Process id of the child; 0 when there is none."""
        child = self._running()
        return child.pid if child is not None else 0

    def status_at_rest(self) -> EngineStatus:
        """Library, number of papers and allowed sources, without a child: opens no index, and loads
        no model.

        A work that the library and one below it both hold counts twice."""
        from citewell.sources.registry import allowed

        options = self._options
        names, problems = allowed(options.sources.allow)
        try:
            path = which_library(options)
            snapshot = current_snapshot(path)
            works = read_manifest(path, snapshot).works
        except CitewellError as error:
            return EngineStatus(sources=names, problems=(error.problem, *problems))
        for lower in libraries_below(options):
            with contextlib.suppress(CitewellError):
                works += read_manifest(lower, current_snapshot(lower)).works
                snapshot = snapshot_of(options)
        return EngineStatus(str(path), snapshot, works, sources=names, problems=problems)

    def watch_source_cache(self, listener: Listener) -> None:
        """Register a listener for the source and the outcome of each request to a source, if the
        settings ask for metrics; it is called before the answer of the call that waited for it."""
        self._on_look_up = listener

    def _look_up(self, source: str, outcome: Outcome) -> None:
        self._on_look_up(source, outcome)  # also for a child started earlier

    # The life of the child

    def start(self) -> None:
        """Start the child in the background, so that it is ready for the first request."""
        self.begun = True

        def quietly() -> None:
            try:
                self._ensure()
            except CitewellError as error:
                # One closed before it started is no error.
                if error.problem is not CLOSED:
                    logger.warning("%s", error)

        threading.Thread(target=quietly, name="citewell-spawn", daemon=True).start()

    def configure(self, options: Options) -> bool:
        """Use these options from now on; True when that starts another child."""
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
        """Kill the child at once; requests in flight fail with `engine-restarted`, and the next
        request starts another child."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()

    def _running(self) -> Child | None:
        """The child, if there is one that lives."""
        child = self._child
        return child if child is not None and child.alive else None

    def _ensure(self) -> Child:
        """The running child, or a new one. Raises `CitewellError` when it must not start, or not
        yet."""
        self.begun = True
        with self._lock:
            if self._closed:
                raise CitewellError(CLOSED)
            last, self._child = self._child, self._running()
            if self._child is not None:
                return self._child
            if last is not None:
                words = last.last_words
                logger.warning("The engine process %d ended (%s)", last.pid, words or "no word")
                # A child that never answered counts; the others are forgiven.
                self._record_death(1 if last.answered else self._deaths + 1, words)
                last.kill()
            if (wait := self._not_before - time.monotonic()) > 0:
                raise CitewellError(self._down(wait))
            try:
                # The last child may have died because of a damaged file.
                self._child = Child(
                    self._options, self._command, self._look_up, verify=last is not None
                )
            except OSError as error:
                self._record_death(self._deaths + 1, str(error))
                raise CitewellError(self._down(self._not_before - time.monotonic())) from error
            self._watch(self._child)
            return self._child

    def _watch(self, child: Child) -> None:
        """End the child, from a separate thread, after the idle time in the settings."""
        seconds = 60 * self._options.retrieval.idle_minutes
        # Only the process that queried the sources knows their offered records.
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

    def _record_death(self, deaths: int, last_words: str) -> None:
        self._deaths, self._last_words = deaths, last_words
        if deaths >= FREE_DEATHS:
            seconds = min(MAX_DELAY, 2.0 ** (deaths - FREE_DEATHS + 1))
            self._not_before = time.monotonic() + seconds

    def _down(self, wait: float) -> Problem:
        words = f" Last output: {self._last_words}" if self._last_words else ""
        return Problem(
            "engine-down",
            f"The search engine stopped {self._deaths} times in a row.{words}",
            f"Run `citewell doctor`. Next attempt in {max(1, round(wait))} s.",
        )

    # Calls: each has a time limit, and is cancelled in the child when its caller stops waiting.

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """Send a call and await the result. Raises `CitewellError` with the reason; cancelling the
        task cancels the call in the child."""
        call = self._numbered(method, arguments, cancel)
        started = time.monotonic()
        # Starting a process takes milliseconds, too long for a loop that answers hovers.
        child = self._running()
        if child is None:
            child = await asyncio.to_thread(self._ensure)
        try:
            future = child.request(call, method.result)
        except ChildEndedError:  # it ended when idle, before the call was sent
            child = await asyncio.to_thread(self._ensure)
            future = child.request(call, method.result)
        limit = self._limit(child, method, arguments)
        limit = limit if cancel is None else min(limit, cancel.remaining)
        reply = asyncio.wrap_future(future)
        # The process may end after the caller: its error is then retrieved only here.
        reply.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            # `wait_for` of Python 3.11 loses a cancellation that arrives together with the reply.
            async with asyncio.timeout(limit):
                result: R = await asyncio.shield(reply)
                return result
        except asyncio.CancelledError:
            child.cancel(call.id)
            raise
        except TimeoutError:
            self._give_up(child, call.id, started)
            raise CitewellError(LATE) from None
        except Cancelled:
            raise asyncio.CancelledError from None

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """Send a call and wait in this thread. Raises `Cancelled`, or `CitewellError` with the
        reason."""
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
        child = self._ensure()
        try:
            future = child.request(call, method.result)
        except ChildEndedError:  # it ended when idle, before the call was sent
            child = self._ensure()
            future = child.request(call, method.result)
        started = time.monotonic()
        deadline = started + self._limit(child, method, arguments)
        # Cancel has no callback, so a cancellable caller is polled every few milliseconds.
        step = 3600.0 if cancel is None else 0.02
        while True:
            try:
                result: R = future.result(max(0.0, min(step, deadline - time.monotonic())))
                return result
            except FutureCancelled as error:
                raise Cancelled from error
            except TimeoutError:
                if cancel is not None and cancel.is_set:
                    child.cancel(call.id)
                    raise Cancelled from None
                if time.monotonic() >= deadline:
                    self._give_up(child, call.id, started)
                    raise CitewellError(LATE) from None

    def _numbered(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> protocol.Call:
        has_deadline = cancel is not None and cancel.deadline is not None
        seconds = cancel.remaining if cancel is not None and has_deadline else None
        packed = protocol.packed(arguments)
        return protocol.Call(next(self._numbers), method.name, packed, seconds)

    def _give_up(self, child: Child, number: int, started: float) -> None:
        """Drop a late request; a child that was silent for too long is stuck and is killed."""
        child.cancel(number)
        patience = STUCK_SECONDS if child.answered else STARTING_SECONDS
        if min(child.silent_for, time.monotonic() - started) >= patience:
            child.kill()

    def _limit(self, child: Child, method: Method[Any, R], arguments: msgspec.Struct) -> float:
        """Time limit of a call in seconds, with that of the language model."""
        seconds = SECONDS[method.lane(arguments)]
        if not child.answered:
            seconds = max(seconds, STARTING_SECONDS)
        return seconds + method.seconds(arguments, self._options)
