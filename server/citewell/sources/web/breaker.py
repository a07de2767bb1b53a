"""A circuit breaker: a source that keeps failing is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

from citewell.sources.answers import Reason
from citewell.sources.web.trouble import Trouble

FAILURES = 6
"""Failures in a row that open the circuit."""
REST_SECONDS = 60.0
MAX_REST_SECONDS = 900.0


class Breaker:
    """Closed, open, or half-open with one probe under way. For one event loop."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._clock = clock
        self._failures = 0
        self._openings = 0
        self._until = 0.0
        self._probing = False

    @property
    def resting(self) -> float:
        """Seconds until the next request may go out; 0 when one may go now."""
        return max(0.0, self._until - self._clock())

    def enter(self) -> None:
        """Ask for leave to send a request. Raises `Trouble` while the circuit is open."""
        wait = self.resting
        if wait > 0 or (self._failures >= FAILURES and self._probing):
            message = f"{self._title} is paused for {max(1, round(wait))} s after failures."
            raise Trouble(Reason.RESTING, message, again=wait > 0, wait=wait or None)
        self._probing = self._failures >= FAILURES

    def succeeded(self) -> None:
        """Record that the source answered, even if it found nothing."""
        self._failures = self._openings = 0
        self._until, self._probing = 0.0, False

    def failed(self, wait: float | None = None) -> None:
        """Record a failure; `wait` is the number of seconds that the source asked us to wait."""
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
