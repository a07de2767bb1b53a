"""A request's right to stop: checked between the stages of long work."""

from __future__ import annotations

import threading
import time


class Cancelled(Exception):  # noqa: N818 - nothing is wrong when it is raised
    """The client gave up on the request; nothing is shown for it."""


class Cancel:
    """Set by the client's cancel or by a deadline; cheap to ask. Safe across threads."""

    def __init__(self, seconds: float | None = None) -> None:
        self._event = threading.Event()
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def set(self) -> None:
        """Ask whatever works on this request to stop."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """True once the client cancelled (a passed deadline does not count)."""
        return self._event.is_set()

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; infinity without one; never negative."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `Cancelled` if the client cancelled."""
        if self._event.is_set():
            raise Cancelled
