"""How long an act may wait for sources: one deadline for all that it asks, and no long wait for a
source that says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from citewell.model import Problem
from citewell.sources.answers import Failed, Reason

T = TypeVar("T")

ONLINE_SECONDS = 35.0
"""Time limit for all requests of one act: programs that wait for an answer time out after a minute
at most."""
SILENCE = 12.0
"""Seconds without any response after which a source counts as silent."""
REST = 60.0
"""Seconds for which a silent source is not asked again."""


class LastResponses:
    """When each source was last heard of, and which kept silent. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._last: dict[str, float] = {}
        self._silent: dict[str, float] = {}

    def note(self, name: str) -> None:
        """The source answered a request."""
        self._last[name] = self.clock()
        self._silent.pop(name, None)

    def since(self, name: str, began: float) -> float:
        """When a source that has been waited for since `began` last responded."""
        return max(began, self._last.get(name, began))

    def fell_silent(self, name: str) -> None:
        """Record that the source sent nothing for `SILENCE` seconds."""
        self._silent[name] = self.clock() + REST

    def is_silent(self, name: str) -> bool:
        """True for a source that is not queried because it was recently silent."""
        return self._silent.get(name, 0.0) > self.clock()


class Budget:
    """The time budget of one act, shared by all its requests."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` None: no deadline, but no wait for a silent source either."""
        self.seconds = seconds
        self._clock = clock
        self._ends = float("inf") if seconds is None else clock() + seconds
        self._late: dict[str, None] = {}

    @property
    def left(self) -> float:
        """Seconds until the deadline, not negative."""
        return max(0.0, self._ends - self._clock())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the author should know: who did not answer in time."""
        if not self._late:
            return ()
        over = self.seconds is not None and not self.left
        limit = f" within {self.seconds:.0f} s" if over else " in time"
        return (
            Problem(
                "check-incomplete",
                f"Some answers are missing{limit}: {', '.join(self._late)}.",
                "What is missing counts as unchecked. Check again: received answers are "
                "cached, so only the rest is requested.",
            ),
        )

    async def within(
        self,
        name: str,
        title: str,
        responses: LastResponses,
        ask: Callable[[], Coroutine[Any, Any, T]],
        late: Callable[[Failed], T],
    ) -> T:
        """The answer of a source, or `late` of the reason when it is not there in time."""
        if not self.left:
            return self._timed_out(
                name, title, late, f"{title} was not queried: the time limit was reached."
            )
        if responses.is_silent(name):
            message = f"{title} did not answer recently and is paused for a minute."
            return self._timed_out(name, title, late, message, Reason.RESTING)
        import asyncio  # where no source is asked, no process loads it

        began = self._clock()
        task = asyncio.ensure_future(ask())
        try:
            while True:
                silent = responses.since(name, began) + SILENCE
                wait = min(self._ends, silent) - self._clock()
                if wait <= 0:
                    break
                done, _ = await asyncio.wait({task}, timeout=wait)
                if done:
                    return task.result()
            if self.left:
                responses.fell_silent(name)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return self._timed_out(name, title, late, f"{title} did not answer in time.")

    def _timed_out(
        self,
        name: str,
        title: str,
        late: Callable[[Failed], T],
        message: str,
        reason: Reason = Reason.UNREACHABLE,
    ) -> T:
        self._late[title] = None
        return late(Failed(name, reason, message))
