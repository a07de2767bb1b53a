"""The rate limit of a source, shared between the processes of one folder.

A source counts the requests of an address, not those of a process. Therefore each request reserves
its time in a small database: read the time of the next one, write that of the one after it, and
wait outside the transaction. A connection lasts for one reservation (0.1 ms): a crash leaves
nothing to repair, and the folder may be deleted at any time.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from citewell.model.system.database import NewerDatabaseError, open_database, transaction
from citewell.options.folders import make_private_file
from citewell.sources.contract import Reason

# A circuit breaker: a source that keeps failing is not queried for a while.

FAILURES = 6
"""Consecutive failures that open the circuit."""
REST_SECONDS = 60.0
MAX_REST_SECONDS = 900.0


class Trouble(Exception):  # noqa: N818 - it never leaves the HTTP layer
    """A request without a usable answer; outside the HTTP layer it is a `Failed`. The message
    contains no key and no full address."""

    def __init__(
        self, reason: Reason, message: str, *, again: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.again = again
        """Whether a retry may succeed."""
        self.wait = wait
        """Seconds of the pause that the source asked for."""


class Breaker:
    """Closed, open, or half-open with one probe under way. For one event loop."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._clock = clock
        self._failures = 0
        self._openings = 0
        self._until = 0.0
        self._probing = False
        self._unreachable = ""

    @property
    def resting(self) -> float:
        """Seconds until the next request is allowed; 0 if one is allowed at once."""
        return max(0.0, self._until - self._clock())

    def enter(self) -> None:
        """Request permission to send. Raises `Trouble` while the circuit is open."""
        wait = self.resting
        if wait > 0 or (self._failures >= FAILURES and self._probing):
            paused = f"{self._title} is paused for {max(1, round(wait))} s after failures."
            message = self._unreachable or paused
            raise Trouble(Reason.RESTING, message, again=wait > 0, wait=wait or None)
        self._probing = self._failures >= FAILURES

    def succeeded(self) -> None:
        """Record that the source answered, even if it found nothing."""
        self._failures = self._openings = 0
        self._until, self._probing = 0.0, False
        self._unreachable = ""

    def failed(self, wait: float | None = None, unreachable: str = "") -> None:
        """Record a failure. `wait` is the number of seconds that the source asked us to wait;
        `unreachable` is the message of a connection failure, which counts until the next answer."""
        self._unreachable = unreachable
        self._failures += 1
        self._probing = False
        rest = min(wait, MAX_REST_SECONDS) if wait else 0.0
        if self._failures >= FAILURES:
            self._openings += 1
            rest = max(rest, min(REST_SECONDS * 2 ** (self._openings - 1), MAX_REST_SECONDS))
        self._until = max(self._until, self._clock() + rest)

    def withdrawn(self) -> None:
        """Record that we abandoned a request, which is no evidence about the source."""
        self._probing = False


logger = logging.getLogger(__name__)

T = TypeVar("T")

FILE = "pace.sqlite"
LONGEST = MAX_REST_SECONDS
"""Maximum number of seconds until a turn or the end of a pause."""
SKEW = 5.0
"""Seconds by which clocks may differ; a row from further ahead predates a correction of the
clock."""
STATED_SECONDS = 3600.0
"""Seconds for which a stated rate counts."""
BUSY_SECONDS = 2.0
"""Seconds to retry while another process has the file: it takes 0.1 ms unless it was suspended."""
_SCHEMA = """
CREATE TABLE pace (
    address TEXT PRIMARY KEY,
    written REAL NOT NULL,
    next REAL NOT NULL,
    rest_until REAL NOT NULL,
    stated_interval REAL NOT NULL,
    stated_until REAL NOT NULL
) WITHOUT ROWID
"""
_PRAGMAS = ("synchronous = OFF", "journal_mode = MEMORY")
"""A lost row, or a file that must be replaced, costs one request its spacing."""
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})


class _BusyError(Exception):
    """Another process has the file."""


class _Row(msgspec.Struct):
    """The state of an address. Times are those of the system's clock, not of a monotonic one:
    several machines or containers may share the folder."""

    next: float = 0.0
    """Earliest time of the next request."""
    rest_until: float = 0.0
    stated_interval: float = 0.0
    stated_until: float = 0.0


class SharedPace:
    """The shared rate of one address. Without a usable folder it imposes no limit."""

    def __init__(
        self, folder: Path, address: str, title: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = folder / FILE
        self._address = address
        self._title = title
        self._clock = clock
        self._reserved = 0.0
        """The `next` of our last reservation."""
        self._stated = 0.0
        """The stated interval last shared with other processes."""

    async def reserve(
        self, interval: float, *, after: float = 0.0, unused: bool = False
    ) -> float | None:
        """Seconds until the turn of the next request, at least `after`; None without a usable
        folder.

        `unused`: the turn of the last reservation was not used. Raises `Trouble` during a pause
        that the source asked for.
        """

        def change(row: _Row, now: float) -> float:
            self._check(row, now)
            if row.stated_until <= now:
                row.stated_interval = 0.0
            self._stated = row.stated_interval
            # No turn follows the unused one: it is still ours.
            first = now if unused and row.next == self._reserved else row.next
            turn = max(now + after, first)
            row.next = self._reserved = turn + max(interval, row.stated_interval)
            return turn - now

        return await self._changed(change)

    async def check(self) -> None:
        """Raise `Trouble` during a pause that the source asked for."""
        await self._changed(self._check)

    async def rest(self, seconds: float) -> None:
        """Record that the source asks for a pause of `seconds`."""
        until = self._clock() + min(seconds, LONGEST)

        def change(row: _Row, now: float) -> None:
            row.rest_until = max(row.rest_until, until)

        await self._changed(change)

    def state(self, interval: float) -> None:
        """Record the interval that the source states; 0: none longer than our own. Never waits: a
        failed write is repeated after the next answer."""
        if abs(interval - self._stated) < 1e-9:
            return

        def change(row: _Row, now: float) -> None:
            row.stated_interval, row.stated_until = interval, now + STATED_SECONDS

        try:
            self._attempt(change)
        except _BusyError:
            return
        self._stated = interval

    # -- inside -----------------------------------------------------------------------------

    def _check(self, row: _Row, now: float) -> None:
        wait = row.rest_until - now
        if wait > 0:
            message = f"{self._title} is paused for {max(1, round(wait))} s at its own request."
            raise Trouble(Reason.RESTING, message, again=True, wait=wait)

    async def _changed(self, change: Callable[[_Row, float], T]) -> T | None:
        """The result of `change`; None without a usable file."""
        limit = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._attempt(change)
            except _BusyError:
                if time.monotonic() > limit:
                    logger.info("%s is in use for too long.", self._path)
                    return None
                await asyncio.sleep(random.uniform(0.001, 0.01))

    def _attempt(self, change: Callable[[_Row, float], T]) -> T | None:
        """Run one transaction, without waiting for other processes. A damaged file is replaced."""
        for is_last in (False, True):
            if self._path.parent.is_dir():
                with suppress(OSError):
                    make_private_file(self._path)
            try:
                with (
                    closing(
                        open_database(self._path, [_SCHEMA], seconds=0, pragmas=_PRAGMAS)
                    ) as database,
                    transaction(database),
                ):
                    now = self._clock()
                    row = self._read(database, now)
                    result = change(row, now)
                    self._write(database, row, now)
                return result
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code in _BUSY:
                    raise _BusyError from None
                if is_last or code not in _DAMAGED or not self._removed():
                    logger.info("The pace cannot be shared: %s", error)
                    return None
            except NewerDatabaseError as error:
                logger.info("The pace cannot be shared: %s", error)
                return None
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _removed(self) -> bool:
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _read(self, database: sqlite3.Connection, now: float) -> _Row:
        found = database.execute(
            "SELECT written, next, rest_until, stated_interval, stated_until"
            " FROM pace WHERE address = ?",
            (self._address,),
        ).fetchone()
        if found is None or found[0] > now + SKEW:
            return _Row()
        latest = now + LONGEST
        return _Row(
            next=min(found[1], latest),
            rest_until=min(found[2], latest),
            stated_interval=min(found[3], LONGEST),
            stated_until=min(found[4], now + STATED_SECONDS),
        )

    def _write(self, database: sqlite3.Connection, row: _Row, now: float) -> None:
        database.execute(
            "INSERT OR REPLACE INTO pace VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._address, now, row.next, row.rest_until,
                row.stated_interval, row.stated_until,
            ),
        )  # fmt: skip
