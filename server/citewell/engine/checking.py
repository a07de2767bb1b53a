"""The check over an open library, in slices between which searches may go first."""

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
"""References that are checked in one go: about 15 ms, in which a search may have to wait."""
PATIENCE = 0.1
"""Seconds that a slice waits for searches to end, at most: about what one takes. Where many clients
search all the time they never end, and a check must come to an end too."""


class Traffic:
    """Counts the searches that run. `with traffic:` around each of them."""

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
        """Return when no search runs, or when the time is over."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._running, seconds)


class LibraryCheck:
    """Checks references with the records of one library. Safe across threads: one at a time."""

    def __init__(self, library: Library, traffic: Traffic, size: int | None = SLICE) -> None:
        """`size` is the number of references that a search may have to wait for; None where
        nothing is searched."""
        self._library = library
        self._traffic = traffic
        self._size = size
        self._lock = threading.Lock()
        self._checker: Checker | None = None

    def check(self, claims: Sequence[Claim], cancel: Cancel) -> list[Check]:
        """The verdicts in order. Raises only `Cancelled`."""
        # Searches come first, and need none of it.
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
    problems that name the sources that did not answer in time. Raises only `Cancelled`.
    """
    from citewell.engine.records import LibraryRecords
    from citewell.verification.checker import Checker
    from citewell.verification.identify import MemoryRecords
    from citewell.verification.online import OnlineChecker

    held = MemoryRecords((), name="") if library is None else LibraryRecords(library)
    act = sources.within(seconds)
    checks = OnlineChecker(Checker([held]), act).check(claims, cancel=cancel)
    return checks, act.problems
