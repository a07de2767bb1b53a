"""The back end of an open library: asked while it can answer, left alone for a while when not."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from citewell.model import CitewellError, Problem
from citewell.retrieval.backend.address import open_backend
from citewell.retrieval.backend.contract import Backend, Found, backend_error
from citewell.retrieval.backend.held_segments import HeldSegments
from citewell.retrieval.backend.server_address import is_server

logger = logging.getLogger(__name__)
PAUSE_SECONDS = 5.0
"""After a failure the back end is not asked for so long."""
CHECK_SECONDS = 60.0
"""After so long, what a server holds is looked at again: others write to it."""
Ask = Callable[[Backend], Found]


class _Failure(msgspec.Struct, frozen=True):
    problem: Problem
    until: float
    """Monotonic time of the next attempt."""


class Connection:
    """Safe to call from any thread.

    Connecting to a server happens on a thread of its own: no search waits for it, and a server that
    was away is found again. A folder is opened at once.
    """

    def __init__(
        self,
        address: str,
        held: HeldSegments,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seconds` is the limit of each request to a server."""
        self.held = held
        self._address = address
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._failure: _Failure | None = None
        self._late: dict[str, _Failure] = {}
        self._check_at = 0.0
        self._checking = False
        self._known = threading.Event()
        self._look()

    @property
    def problem(self) -> Problem | None:
        """Why not everything is asked of the back end now, as far as that is known."""
        late = next(iter(self._late.values()), None)
        failure = self._failure or late
        return None if failure is None else failure.problem

    def wait(self, seconds: float) -> None:
        """Until a look at the server that is under way is over, or so long."""
        self._known.wait(seconds)

    def ask(self, part: str, ask: Ask) -> Found | Problem | None:
        """What the back end finds; the problem if it cannot say; None before that is known.

        `part` names what is searched. When it is late, only this part is left alone for a while.
        """
        now = self._clock()
        with self._lock:
            failure, late = self._failure, self._late.get(part)
            is_due = now >= self._check_at if failure is None else now >= failure.until
            if late is not None and now >= late.until:
                # One search tries again; those beside it do not wait with it.
                self._late[part] = msgspec.structs.replace(late, until=now + PAUSE_SECONDS)
                late = None
            backend = self._backend
        if is_due:
            self._look()
        if failure is not None or late is not None:
            return (failure or late).problem  # type: ignore[union-attr]
        if backend is None:
            return None
        try:
            found = ask(backend)
        except CitewellError as error:
            return self._failed(part, error.problem)
        with self._lock:
            self._late.pop(part, None)
        return found

    def _failed(self, part: str, problem: Problem) -> Problem:
        until = self._clock() + PAUSE_SECONDS
        is_late = problem.code == "backend-late"
        if is_late:
            message = f"The {part} were not searched there: {problem.message}"
            problem = msgspec.structs.replace(problem, message=message)
        with self._lock:
            if is_late:
                self._late[part] = _Failure(problem, until)
            else:
                self._failure = _Failure(problem, until)
        return problem

    def _look(self) -> None:
        """Connect, and see whether the back end holds the library."""
        with self._lock:
            if self._checking:
                return
            self._checking = True
            self._known.clear()
        if is_server(self._address):
            threading.Thread(target=self._check, name="citewell-backend", daemon=True).start()
        else:
            self._check()

    def _check(self) -> None:
        backend: Backend | None
        problem: Problem | None
        try:
            backend = open_backend(self._address, self._seconds)
            problem = self.held.lack(self._address, backend.state())
        except CitewellError as error:
            backend, problem = None, error.problem
        except Exception as error:
            logger.exception("The back end %s cannot be opened", self._address)
            message = f"The back end cannot be opened ({type(error).__name__})."
            backend, problem = None, backend_error("backend-failed", message).problem
        now = self._clock()
        with self._lock:
            if problem is None:
                self._backend, self._failure = backend, None
            else:
                self._failure = _Failure(problem, now + PAUSE_SECONDS)
            self._check_at = now + CHECK_SECONDS
            self._checking = False
        self._known.set()
