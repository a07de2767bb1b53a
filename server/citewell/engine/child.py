"""One worker process as its parent holds it: pipes, threads, requests in flight."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, BinaryIO, TypeVar

import msgspec

from citewell.engine import protocol
from citewell.model import CitewellError, Problem
from citewell.model.system.child_process import start_child
from citewell.options import Options
from citewell.options.folders import CACHE_VARIABLE, DATA_VARIABLE, cache_folder, data_folder
from citewell.sources.answers import Listener

R = TypeVar("R")
logger = logging.getLogger(__name__)

MAX_WAITING = 1000
"""Frames that may wait for a child that does not read."""


class ChildEndedError(Exception):
    """The process ended before it answered."""


def worker_command() -> tuple[str, ...]:
    """How a worker is started.

    `-P` keeps the working directory, which may be a stranger's project, off the import path.
    """
    return (sys.executable, "-P", "-m", "citewell.engine.worker")


def worker_environment() -> dict[str, str]:
    """The parent's environment with the native thread pools tamed.

    A pool that spins while idle, or that takes every core, makes the editor stutter. What the
    user has set stays.
    """
    environment = dict(os.environ)
    threads = str(max(1, min(4, (os.cpu_count() or 2) // 2)))
    # OpenBLAS spins between its short products: a second thread doubled a search's processor time.
    defaults = {
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": threads,
        "NUMBA_NUM_THREADS": threads,
        # One heap for all threads (glibc): each heap keeps the arrays that its thread has freed.
        "MALLOC_ARENA_MAX": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUTF8": "1",
        # Finding them takes a child 4 ms, and its parent knows them.
        DATA_VARIABLE: str(data_folder()),
        CACHE_VARIABLE: str(cache_folder()),
    }
    for name, value in defaults.items():
        environment.setdefault(name, value)
    return environment


class Child:
    """A running worker. Created started; never restarted. Safe across threads."""

    def __init__(
        self,
        options: Options,
        command: Sequence[str] | None = None,
        *,
        verify: bool = False,
        on_look_up: Listener = lambda source, outcome: None,
    ) -> None:
        """Start the process. Raises `OSError` when that fails. With `verify` it looks at the
        checksums of the library before it answers. `on_look_up` is called, on the thread that
        reads, for each request to a source that the process counts."""
        self._on_look_up = on_look_up
        self._process = start_child(
            command or worker_command(), environment=worker_environment(), is_urgent=False
        )
        self.pid = self._process.pid
        self._last_words = ""
        self.answered = False
        self._lock = threading.Lock()
        self._pending: dict[int, tuple[Future[Any], Callable[[msgspec.Raw], Any]]] = {}
        self._outbox: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._gone = threading.Event()
        self._last_frame_at = time.monotonic()
        self._outbox.put_nowait(protocol.encode(protocol.Hello(protocol.VERSION, options, verify)))
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._logger = threading.Thread(target=self._log, args=(self._process.stderr,), daemon=True)
        self._logger.start()
        for target, pipe in (
            (self._write, self._process.stdin),
            (self._read, self._process.stdout),
        ):
            threading.Thread(target=target, args=(pipe,), daemon=True).start()

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

    def request(self, call: protocol.Call, decode: Callable[[msgspec.Raw], R]) -> Future[R]:
        """Send a call. The future holds the decoded result, the reply that there is none, or
        `ChildEndedError`. Never blocks."""
        try:
            frame = protocol.encode(call)
        except protocol.BrokenFrameError as error:
            raise CitewellError(
                Problem("request-too-large", f"The search is too large: {error}.")
            ) from error
        future: Future[R] = Future()
        with self._lock:
            if self._gone.is_set():
                raise ChildEndedError
            self._pending[call.id] = (future, decode)
        try:
            self._outbox.put_nowait(frame)
        except queue.Full:
            self.kill()
            raise ChildEndedError from None
        return future

    def wait_for_end(self, seconds: float) -> bool:
        """Wait until the process is gone, or so long; whether it is gone."""
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
        if pending is None:
            return
        pending[0].cancel()
        try:
            self._outbox.put_nowait(protocol.encode(protocol.CancelRequest(number)))
        except queue.Full:
            self.kill()

    def kill(self) -> None:
        """End the process at once; what is in flight fails with `ChildEndedError`."""
        self._process.kill()

    def retire(self, seconds: float = 30.0) -> None:
        """Let the requests in flight end, then close."""
        limit = time.monotonic() + seconds
        while self._pending and self.alive and time.monotonic() < limit:
            time.sleep(0.05)
        self.close()

    def close(self) -> None:
        """Close the child's input, which ends it; kill it if it stays."""
        try:
            self._outbox.put_nowait(None)
        except queue.Full:
            self.kill()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()

    def _write(self, pipe: BinaryIO) -> None:
        try:
            while (frame := self._outbox.get()) is not None:
                pipe.write(frame)
                pipe.flush()
        except (OSError, ValueError):
            pass
        finally:
            with contextlib.suppress(OSError):
                pipe.close()

    def _read(self, pipe: BinaryIO) -> None:
        try:
            while (body := protocol.read_frame(pipe)) is not None:
                self._last_frame_at = time.monotonic()
                message = protocol.decode_reply(body)
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
            pending = self._pending.get(reply.id)
        if pending is None:
            return
        future, decode = pending
        result = decode(reply.result) if isinstance(reply, protocol.Answer) else reply
        with self._lock:
            self._pending.pop(reply.id, None)
        if future.set_running_or_notify_cancel():
            future.set_result(result)

    def _end(self) -> None:
        with self._lock:
            self._gone.set()
            pending, self._pending = list(self._pending.values()), {}
        self._process.poll()
        for future, _ in pending:
            if future.set_running_or_notify_cancel():
                future.set_exception(ChildEndedError())
        try:
            self._outbox.put_nowait(None)
        except queue.Full:
            # The writer is then stuck in a pipe that just broke, and leaves by its error.
            self._process.kill()

    def _log(self, pipe: BinaryIO) -> None:
        with pipe:
            for raw in pipe:
                line = raw.decode("utf-8", "replace").rstrip()
                if line:
                    self._last_words = line[:500]
                    logger.info("engine %d: %s", self.pid, line)
