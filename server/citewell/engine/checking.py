"""The check over an open library, in slices that give way to searches."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from citewell.corpus.library import Library
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim

if TYPE_CHECKING:
    from citewell.engine.online import Online
    from citewell.verification.checker import Checker

SLICE = 16
"""Number of references checked at once: about 15 ms, for which a search may have to wait."""
PATIENCE = 0.1
"""Maximum number of seconds that a slice waits for searches: about the duration of one. With many
searching clients there is no pause, and a check must finish, too."""


class Traffic:
    """Counts the running searches. Use `with traffic:` around each of them."""

    def __init__(self) -> None:
        self._quiet = threading.Condition()
        self._running = 0

    def __enter__(self) -> None:
        with self._quiet:
            self._running += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._quiet:
            self._running -= 1
            self._quiet.notify_all()

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait until no search runs, or the time is over."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._running, seconds)


class LibraryCheck:
    """Checks references with the records of one library. Thread-safe: one at a time."""

    def __init__(self, library: Library, traffic: Traffic, size: int | None = SLICE) -> None:
        """`size` is the number of references that a search may have to wait for; None without
        searches."""
        self._library = library
        self._traffic = traffic
        self._size = size
        self._lock = threading.Lock()
        self._checker: Checker | None = None

    def check(self, claims: Sequence[Claim], cancel: Cancel) -> list[Check]:
        """The verdicts in order. Raises only `Cancelled`."""
        # Deferred: searches do not need it.
        from citewell.engine.records import LibraryRecords
        from citewell.verification.checker import BATCH, Checker

        checks: list[Check] = []
        size = self._size or BATCH
        for start in range(0, len(claims), size):
            if start:  # the first batch never waits, so that short lists are checked at once
                self._traffic.wait()
            cancel.check()
            with self._lock:
                if self._checker is None:
                    self._checker = Checker([LibraryRecords(self._library)])
                checks += self._checker.check(claims[start : start + size], cancel=cancel)
        return checks


def check_online(
    library: Library | None,
    sources: Online,
    claims: Sequence[Claim],
    cancel: Cancel,
    seconds: float | None,
) -> tuple[list[Check], tuple[Problem, ...]]:
    """The verdicts from the records of the sources and of the library, if there is one; and
    problems for the sources that did not answer in time. Raises only `Cancelled`.
    """
    from citewell.engine.records import LibraryRecords
    from citewell.verification.checker import Checker
    from citewell.verification.identify import MemoryRecords
    from citewell.verification.online import OnlineChecker

    held = MemoryRecords((), name="") if library is None else LibraryRecords(library)
    act = sources.within(seconds)
    checks = OnlineChecker(Checker([held]), act).check(claims, cancel=cancel)
    return checks, act.problems
