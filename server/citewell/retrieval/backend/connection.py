"""Back ends by address, and the connection of an open library, with a pause after failures."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.layout import SegmentUse, SegmentView
from citewell.corpus.library import Library
from citewell.model import CitewellError, Problem
from citewell.retrieval.backend.contract import (
    FORMAT,
    Backend,
    ScoredPoints,
    State,
    WriteTarget,
    backend_error,
    is_server,
    malformed_address,
    places_of,
    server_address,
)
from citewell.retrieval.contract import Ranking

if TYPE_CHECKING:
    from citewell.retrieval.backend.edge import EdgeBackend

# Addresses of back ends, as in `library.url`.

EDGE = "edge:"
_SECONDS = 10.0


def open_backend(text: str, seconds: float = _SECONDS) -> Backend:
    """The back end at an address; `seconds` limits each request to a server.

    Raises `CitewellError` with a code backend-*.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend.qdrant import QdrantBackend, connect

        return QdrantBackend(server, connect(server, seconds), seconds)
    return _edge(text)


def open_target(text: str, wanted: State, *, fresh: bool = False) -> WriteTarget:
    """The target for writing a library. `fresh`: on a server, into a new collection.

    A folder that holds a library of another format, or with other weights or vectors, is emptied.
    Raises `CitewellError` with a code backend-*.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend import qdrant

        return qdrant.open_target(server, wanted, fresh=fresh)
    edge = _edge(text)
    state = edge.state()
    if state is not None and not state.fits(wanted):
        edge.clear()
    return WriteTarget(edge, lambda: None)


def restore(text: str, snapshot: Path) -> Backend:
    """Restore a snapshot at an address and return its back end.

    A server gets a new collection, and searches see no gap; a folder must be free. Raises
    `CitewellError` with a code backend-*, or `OSError`.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend import qdrant

        return qdrant.restore(server, snapshot)
    from citewell.retrieval.backend.edge import occupied, snapshot_at

    folder = _folder(text)
    if folder.exists():
        raise occupied(folder)
    shutil.copytree(snapshot_at(snapshot), folder)
    return _edge(text)


def _edge(text: str) -> EdgeBackend:
    from citewell.retrieval.backend.edge import open_edge

    return open_edge(_folder(text))


def _folder(text: str) -> Path:
    folder = text.removeprefix(EDGE).strip()
    if not text.startswith(EDGE) or not folder:
        raise malformed_address(text)
    return Path(folder).expanduser()


# The segments of a library in a back end: from points to rows of the library.


class HeldSegments(msgspec.Struct, frozen=True):
    """The content that a back end must have for a library, and the mapping of its points."""

    wanted: dict[str, tuple[int, str]]
    """Number of rows of each segment, and the hash of those left out."""
    words: str
    encoder: str
    cited: str
    """Expected fingerprints of the back end."""
    numbers: NDArray[np.int64]
    """Numbers of the segments, ascending."""
    bases: NDArray[np.int64]
    """First row of each."""
    counts: NDArray[np.int64]
    lower: tuple[SegmentView, ...]
    """The segments of the libraries below, which are searched in the embedded indexes."""

    def ranking(self, found: ScoredPoints) -> Ranking:
        """The rows of the library that were found, in order.

        Points of segments missing from this library are left out: during an update to a newer
        library, the back end has the points of both.
        """
        rows, known = self._rows(found.points)
        return Ranking(rows[known], found.scores[known])

    def _rows(self, points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        segment, row = places_of(points)
        place = np.minimum(np.searchsorted(self.numbers, segment), len(self.numbers) - 1)
        known = (self.numbers[place] == segment) & (row < self.counts[place])
        return self.bases[place] + row, known

    def lack(self, address: str, state: State | None) -> Problem | None:
        """The reason why a back end in this state cannot answer for the library, or None."""
        if state is not None and state.format != FORMAT:
            message = f"The back end {address} has format {state.format}, not {FORMAT}."
            return backend_error("backend-version", message).problem
        if state is not None and (state.words, state.encoder, state.cited) != (
            self.words, self.encoder, self.cited,
        ):  # fmt: skip
            message = f"The back end {address} was written with other weights or vectors."
            return backend_error("backend-version", message).problem
        found = {} if state is None else {
            one: (rows, state.left_out.get(one, "")) for one, rows in state.segments.items()
        }  # fmt: skip
        if any(found.get(one) != facts for one, facts in self.wanted.items()) or not found:
            message = f"The back end {address} does not hold the library as it is now."
            return backend_error("backend-stale", message).problem
        return None


def held_segments(library: Library, words: str, encoder: str, cited: str) -> HeldSegments:
    """The segments of a library. The other arguments are the expected fingerprints."""
    wanted = {use.id: (use.count, left_out(use)) for use in library.manifest.segments}
    own = sorted(library.own_segments, key=_number)
    return HeldSegments(
        wanted, words, encoder, cited,
        np.array([_number(view) for view in own], np.int64),
        np.array([view.base for view in own], np.int64),
        np.array([view.count for view in own], np.int64),
        library.segments[len(own) :],
    )  # fmt: skip


def left_out(use: SegmentUse) -> str:
    """A hash of the rows of a segment that searches exclude."""
    return f"{use.dead_hash}/{use.quarantine_hash}"


def _number(view: SegmentView) -> int:
    return int(view.path.name.partition("-")[0])


logger = logging.getLogger(__name__)
PAUSE_SECONDS = 5.0
"""Seconds without queries to the back end after a failure."""
CHECK_SECONDS = 60.0
"""Seconds after which the state of a server is checked again: others write to it."""
Ask = Callable[[Backend], ScoredPoints]


class _Failure(msgspec.Struct, frozen=True):
    problem: Problem
    until: float
    """Monotonic time of the next attempt."""


class Connection:
    """The connection to a back end. Thread-safe.

    A server is connected on a separate thread: no search waits for it, and a server that was away
    is found again. A folder is opened at once.
    """

    def __init__(
        self,
        address: str,
        held: HeldSegments,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seconds` limits each request to a server."""
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
        """The reason why the back end does not answer everything at present, as far as known."""
        late = next(iter(self._late.values()), None)
        failure = self._failure or late
        return None if failure is None else failure.problem

    def wait(self, seconds: float) -> None:
        """Wait for a check of the server in progress, at most `seconds`."""
        self._known.wait(seconds)

    def ask(self, part: str, ask: Ask) -> ScoredPoints | Problem | None:
        """The back end's answer, its problem, or None while its state is unknown.

        `part` names the searched vectors. After a timeout, only this part is paused.
        """
        now = self._clock()
        with self._lock:
            failure, late = self._failure, self._late.get(part)
            is_due = now >= self._check_at if failure is None else now >= failure.until
            if late is not None and now >= late.until:
                # One search retries; concurrent ones do not wait for it.
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
        """Connect, and check whether the back end has the library."""
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
