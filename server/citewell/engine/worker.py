"""The worker process: one `LocalEngine` behind two pipes, killable at any time.

Started as `python -m citewell.engine.worker` by `WorkerEngine`. The process owns no important
state: it may be killed at any moment. It ends when its standard input closes, so no worker outlives
the editor.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, BinaryIO

import msgspec

from citewell.corpus.layout import is_library
from citewell.engine import protocol
from citewell.engine.contract import Engine
from citewell.engine.protocol import METHODS, Lane, Method
from citewell.engine.which_library import open_library, snapshot_of, which_library
from citewell.model import CitewellError, Problem, Query
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.system.child_process import take_pipes
from citewell.model.system.json_log import log_as_json
from citewell.options import Options
from citewell.sources import contract
from citewell.sources.contract import Outcome

logger = logging.getLogger(__name__)

THREADS: dict[Lane, int] = {
    "quick": 1, "fast": 3, "full": 2, "batch": 1, "deep": 2, "check": 1, "online": 2, "llm": 2
}  # fmt: skip
"""Threads per lane. A completion waits neither behind a slow search nor behind a look-up, and a
check against the library not behind one that waits for sources."""

RETRY_OPEN_SECONDS = 5.0
"""Seconds after which a request retries an engine that could not start."""

NICENESS = 3
"""Added to the parent's niceness; halves the worker's share of a busy processor."""
WARM_UP_SECONDS = 20.0
"""Time limit in seconds of the retrievers in a process's first search."""
VERSION_SECONDS = 1.0
"""Minimum seconds between two checks for a new snapshot of the library."""


class Worker:
    """Reads requests from `source`, answers them on threads into `sink`."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        open_engine: Callable[[Options], Engine],
        version: Callable[[Options], bytes],
    ) -> None:
        """`version` returns bytes that change when the engine should be reopened."""
        self._source = source
        self._sink = sink
        self._open_engine = open_engine
        self._version_of = version
        self._version = b""
        self._version_read_at = 0.0
        self._write_lock = threading.Lock()
        self._pending: dict[int, tuple[str, Cancel]] = {}
        """By number: the method and the cancel of the unanswered calls."""
        self._pending_lock = threading.Lock()
        self._engine: Future[Engine] = Future()
        self._hello: protocol.Hello | None = None
        self._opened_at = 0.0
        self._open_lock = threading.Lock()
        self._lanes = {
            lane: ThreadPoolExecutor(count, thread_name_prefix=f"citewell-{lane}")
            for lane, count in THREADS.items()
        }

    def run(self) -> None:
        """Serve until the source ends. The calling thread reads; it never handles a request."""
        while (body := protocol.read_frame(self._source)) is not None:
            request = protocol.decode(protocol.Request, body)
            if isinstance(request, protocol.Hello):
                self._hello = request
                self._start_open()
            elif isinstance(request, protocol.CancelRequest):
                with self._pending_lock:
                    if request.id in self._pending:
                        self._pending[request.id][1].set()
            else:
                self._submit(request)

    def _start_open(self, *, keep: bool = False) -> None:
        """Open an engine in the background; with `keep`, the present one serves until then."""
        assert self._hello is not None
        self._opened_at = self._version_read_at = time.monotonic()
        self._version = self._version_of(self._hello.options)
        opened: Future[Engine] = Future()
        if not keep:
            self._engine = opened
        threading.Thread(target=self._open, args=(self._hello, opened), daemon=True).start()

    def _open(self, hello: protocol.Hello, opened: Future[Engine]) -> None:
        try:
            if hello.version != protocol.VERSION:
                raise CitewellError(
                    Problem(
                        "engine-version",
                        "The language server and the search engine have different versions.",
                        "Restart the editor.",
                    )
                )
            if hello.verify:
                _verify_library(hello.options)
                self._hello = msgspec.structs.replace(hello, verify=False)
            engine = self._open_engine(hello.options)
        except Exception as error:
            logger.exception("The engine cannot start")
            opened.set_exception(error)
            return
        with self._pending_lock:
            is_search_waiting = any(name == "find" for name, _ in self._pending.values())
        # A waiting search is itself the first one: it may take as long.
        if not (is_search_waiting and self._engine is opened):
            _warm_up(engine)
        # The replaced engine is not closed: requests may still use it.
        opened.set_result(engine)
        self._engine = opened

    def _refresh(self) -> None:
        """Reopen the engine if it failed a while ago, or if the library has changed."""
        with self._open_lock:
            assert self._hello is not None
            now, engine = time.monotonic(), self._engine
            if not engine.done():
                return
            # Once the first library is built, the error that there is none must not be repeated.
            if self._version and now - self._version_read_at < VERSION_SECONDS:
                return
            self._version_read_at = now
            failed = engine.exception() is not None
            if failed and now - self._opened_at > RETRY_OPEN_SECONDS:
                self._start_open()
            elif self._version_of(self._hello.options) != self._version:
                self._start_open(keep=not failed and self._version != b"")

    def _submit(self, call: protocol.Call) -> None:
        method = METHODS.get(call.method)
        if method is None:
            raise protocol.BrokenFrameError(f"there is no method {call.method!r}")
        arguments = protocol.decode(method.arguments, call.arguments)
        cancel = Cancel(call.seconds)
        with self._pending_lock:
            self._pending[call.id] = (method.name, cancel)
        lane = self._lanes[method.lane(arguments)]
        lane.submit(self._answer, method, arguments, call.id, cancel)

    def _answer(
        self, method: Method[Any, Any], arguments: Any, number: int, cancel: Cancel
    ) -> None:
        reply: protocol.Reply
        try:
            cancel.check()
            engine = self._engine_for(cancel)
            given = msgspec.structs.asdict(arguments)
            if method.takes_cancel:
                given["cancel"] = cancel
            result = getattr(engine, method.name)(**given)
            reply = protocol.Answer(number, protocol.packed(result))
        except Cancelled:
            reply = protocol.CancelledReply(number)
        except CitewellError as error:
            reply = protocol.FailedReply(number, error.problem)
        except Exception as error:
            logger.exception("Request %d failed", number)
            reply = protocol.FailedReply(number, _internal(error))
        finally:
            with self._pending_lock:
                self._pending.pop(number, None)
        try:
            frame = protocol.encode(reply)
        except protocol.BrokenFrameError as error:
            frame = protocol.encode(protocol.FailedReply(number, _internal(error)))
        self._write(frame)

    def _engine_for(self, cancel: Cancel) -> Engine:
        self._refresh()
        opened = self._engine
        while not opened.done():
            wait([opened], timeout=0.05)
            cancel.check()
        return opened.result()

    def send_look_up(self, source: str, outcome: Outcome) -> None:
        """Let a server with metrics count a request to a source."""
        if self._hello is not None and self._hello.options.serve.metrics:
            self._write(protocol.encode(protocol.CacheLookUp(source, outcome)))

    def _write(self, frame: bytes) -> None:
        with self._write_lock, contextlib.suppress(BrokenPipeError, OSError, ValueError):
            self._sink.write(frame)
            self._sink.flush()


def _warm_up(engine: Engine) -> None:
    """Search until no retriever is late.

    The first search of a process imports libraries and maps the indexes, which takes longer than
    the time limit of a user's request. Its text is not typed: a typed text would be sent to the
    allowed sources.
    """
    limit = time.monotonic() + WARM_UP_SECONDS
    with contextlib.suppress(Exception):
        while time.monotonic() < limit:
            found = engine.find(Query(sentence="warm up the index"), 1)
            if not any(problem.code == "retriever-late" for problem in found.dropped):
                return


def _internal(error: Exception) -> Problem:
    return Problem(
        "engine-error",
        f"The search failed: {type(error).__name__}: {error}",
        "Run `citewell doctor`; if it finds nothing, please report this.",
    )


def _open_local(options: Options) -> Engine:
    from citewell.engine.local import LocalEngine

    if options.serve.log_format == "json":
        log_as_json()
    try:
        if not gc.isenabled():
            gc.freeze()  # imported objects stay
        return LocalEngine.open(options, first_seconds=WARM_UP_SECONDS)
    finally:
        gc.enable()


def _verify_library(options: Options) -> None:
    """Read every file of the library once. Raises `CitewellError` for a changed one; a missing
    library is no error."""
    if is_library(which_library(options)):
        library, _ = open_library(options)
        with library:
            damaged = library.verify()
        if damaged:
            raise CitewellError(damaged[0])


def _library_version(options: Options) -> bytes:
    """The id of the searched snapshot; empty without a library."""
    try:
        return snapshot_of(options).encode()
    except (OSError, CitewellError):
        return b""


def _give_way() -> None:
    """Lower the priority: a hover in the language server is worth more than the milliseconds of a
    search."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(NICENESS)


def main() -> None:
    """Run the worker on the process's own pipes; returns when the front end is gone."""
    # Imported objects stay: visiting them repeatedly would take a tenth of the start.
    gc.disable()
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    # Ctrl+C in a terminal reaches the whole group; the front end decides when the worker ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = take_pipes()
    _give_way()
    code = 0
    reader, writer = os.fdopen(source, "rb"), os.fdopen(sink, "wb")
    try:
        worker = Worker(reader, writer, _open_local, _library_version)
        contract.listen(worker.send_look_up)
        worker.run()
    except protocol.BrokenFrameError as error:
        logger.error("The front end sent a broken frame: %s", error)
        code = 3
    # Threads may be deep in native code; nothing here needs an orderly end.
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
