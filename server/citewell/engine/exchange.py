"""Numbered requests to the worker process and their replies: waited for with a limit, cancelled in
the child when nobody waits any more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import TypeVar

from citewell.engine import protocol
from citewell.engine.child import Child, ChildEndedError
from citewell.engine.supervisor import Supervisor
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled

SECONDS: dict[protocol.Lane, float] = {
    "quick": 30.0,
    "fast": 30.0,
    "full": 180.0,
    "batch": 180.0,
    "deep": 180.0,
    "check": 180.0,
    "online": 180.0,
    "llm": 180.0,
}
"""How long a request may take before it is given up. A cold start is inside of it."""
SECONDS_PER_QUERY = 5.0
STUCK_SECONDS = 25.0

RESTARTED = Problem(
    "engine-restarted",
    "The search engine stopped during this request.",
    "Ask again: it starts anew by itself.",
)
LATE = Problem(
    "engine-late",
    "The search engine did not answer in time.",
    "Ask again; if it stays so, run `citewell doctor`.",
)

R = TypeVar("R")


class Exchange:
    """With whatever child the supervisor keeps. Safe across threads."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def reply(
        self, request: protocol.NumberedRequest, seconds: float = float("inf")
    ) -> protocol.Reply:
        """Send and await the reply. Raises `CitewellError` with the reason; cancelling the task
        cancels the request in the child."""
        limit = min(self._limit(request), seconds)
        started = time.monotonic()
        try:
            # Starting a process takes milliseconds, which a loop that answers hovers has not.
            child = self._supervisor.running()
            if child is None:
                child = await asyncio.to_thread(self._supervisor.ensure)
            future = child.request(request)
            try:
                # `wait_for` of Python 3.11 loses a cancel that comes together with the reply.
                async with asyncio.timeout(limit if limit < float("inf") else None):
                    reply = await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                child.cancel(request.id)
                raise
            except TimeoutError:
                self._give_up(child, request.id, started)
                raise CitewellError(LATE) from None
            return _unwrap(reply)
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error
        except Cancelled:
            raise asyncio.CancelledError from None

    def wait(self, request: protocol.NumberedRequest, cancel: Cancel | None) -> protocol.Reply:
        """Send and wait in this thread. Raises `Cancelled`, or `CitewellError` with the reason."""
        if cancel is not None:
            cancel.check()
        child = self._supervisor.ensure()
        deadline = time.monotonic() + self._limit(request)
        try:
            future = child.request(request)
            return self._settle(child, request.id, future, deadline, cancel)
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error

    def retried(self, ask: Callable[[], R]) -> R:
        """A look-up that the child's death cut off is asked once more of the next child."""
        try:
            return ask()
        except CitewellError as error:
            if error.problem.code != RESTARTED.code:
                raise
            return ask()

    def _settle(
        self,
        child: Child,
        number: int,
        future: Future[protocol.Reply],
        deadline: float,
        cancel: Cancel | None,
    ) -> protocol.Reply:
        # Cancel has no call-back, so a caller that may cancel is asked every few milliseconds.
        step = 3600.0 if cancel is None else 0.02
        started = time.monotonic()
        while True:
            try:
                reply = future.result(max(0.0, min(step, deadline - time.monotonic())))
            except FutureCancelled as error:
                raise Cancelled from error
            except TimeoutError:
                if cancel is not None and cancel.is_set:
                    child.cancel(number)
                    raise Cancelled from None
                if time.monotonic() >= deadline:
                    self._give_up(child, number, started)
                    raise CitewellError(LATE) from None
            else:
                return _unwrap(reply)

    def _give_up(self, child: Child, number: int, started: float) -> None:
        """Forget a late request; a child that said nothing for very long is stuck and is ended."""
        child.cancel(number)
        if min(child.silent_for, time.monotonic() - started) > STUCK_SECONDS:
            child.kill()

    def _limit(self, request: protocol.NumberedRequest) -> float:
        """Seconds that a request may take; what the language model may take is added."""
        own = self._supervisor.options.llm
        asks = 0 if own.provider == "none" else (own.rerank != "none") + own.reformulate
        seconds = SECONDS[protocol.lane_of(request)]
        if isinstance(request, protocol.FindRequest):
            slow = asks * own.timeout_ms / 1e3 if request.tier == "deep" else 0.0
            each = slow + (SECONDS_PER_QUERY if request.batch else 0.0)
            return seconds + len(request.queries) * each
        if isinstance(request, protocol.PickRequest | protocol.VerifyRequest):
            return seconds + own.timeout_ms / 1e3
        return seconds


def _unwrap(reply: protocol.Reply) -> protocol.Reply:
    if isinstance(reply, protocol.CancelledReply):
        raise Cancelled
    if isinstance(reply, protocol.FailedReply):
        raise CitewellError(reply.problem)
    return reply
