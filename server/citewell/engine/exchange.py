"""Numbered calls to the worker process and their results: each call has a time limit, and is
cancelled in the child when its caller no longer waits.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec

from citewell.engine import protocol
from citewell.engine.child import Child, ChildEndedError
from citewell.engine.methods import Lane, Method
from citewell.engine.supervisor import Supervisor
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled

SECONDS: dict[Lane, float] = {
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
STUCK_SECONDS = 25.0

RESTARTED = Problem(
    "engine-restarted",
    "The search engine stopped during this request.",
    "Try again: it restarts by itself.",
)
LATE = Problem(
    "engine-late",
    "The search engine did not answer in time.",
    "Try again; if the problem persists, run `citewell doctor`.",
)

R = TypeVar("R")


class Exchange:
    """With whatever child the supervisor keeps. Safe across threads."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._numbers = itertools.count(1)

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """Send and await the result. Raises `CitewellError` with the reason; cancelling the task
        cancels the call in the child."""
        call = self._numbered(method, arguments, cancel)
        limit = self._limit(method, arguments)
        limit = limit if cancel is None else min(limit, cancel.remaining)
        started = time.monotonic()
        try:
            # Starting a process takes milliseconds, which a loop that answers hovers has not.
            child = self._supervisor.running()
            try:
                if child is None:
                    child = await asyncio.to_thread(self._supervisor.ensure)
                future = child.request(call, method.decode_result)
            except ChildEndedError:  # it ended before the call was sent, because it was idle
                child = await asyncio.to_thread(self._supervisor.ensure)
                future = child.request(call, method.decode_result)
            try:
                # `wait_for` of Python 3.11 loses a cancel that comes together with the reply.
                async with asyncio.timeout(limit):
                    result = await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                child.cancel(call.id)
                raise
            except TimeoutError:
                self._give_up(child, call.id, started)
                raise CitewellError(LATE) from None
            return _unwrapped(result)
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error
        except Cancelled:
            raise asyncio.CancelledError from None

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """Send and wait in this thread. Raises `Cancelled`, or `CitewellError` with the reason."""
        try:
            return self._call(method, arguments, cancel)
        except CitewellError as error:
            if not method.retried or error.problem.code != RESTARTED.code:
                raise
            return self._call(method, arguments, cancel)

    def _call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        if cancel is not None:
            cancel.check()
        call = self._numbered(method, arguments, cancel)
        child = self._supervisor.ensure()
        deadline = time.monotonic() + self._limit(method, arguments)
        try:
            try:
                future = child.request(call, method.decode_result)
            except ChildEndedError:  # it ended before the call was sent, because it was idle
                child = self._supervisor.ensure()
                future = child.request(call, method.decode_result)
            return _unwrapped(self._settle(child, call.id, future, deadline, cancel))
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error

    def _numbered(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> protocol.Call:
        has_deadline = cancel is not None and cancel.deadline is not None
        seconds = cancel.remaining if cancel is not None and has_deadline else None
        packed = protocol.packed(arguments)
        return protocol.Call(next(self._numbers), method.name, packed, seconds)

    def _settle(
        self,
        child: Child,
        number: int,
        future: Future[R],
        deadline: float,
        cancel: Cancel | None,
    ) -> R:
        # Cancel has no call-back, so a caller that may cancel is asked every few milliseconds.
        step = 3600.0 if cancel is None else 0.02
        started = time.monotonic()
        while True:
            try:
                return future.result(max(0.0, min(step, deadline - time.monotonic())))
            except FutureCancelled as error:
                raise Cancelled from error
            except TimeoutError:
                if cancel is not None and cancel.is_set:
                    child.cancel(number)
                    raise Cancelled from None
                if time.monotonic() >= deadline:
                    self._give_up(child, number, started)
                    raise CitewellError(LATE) from None

    def _give_up(self, child: Child, number: int, started: float) -> None:
        """Drop a late request; a child that was silent for too long is stuck and is killed."""
        child.cancel(number)
        if min(child.silent_for, time.monotonic() - started) > STUCK_SECONDS:
            child.kill()

    def _limit(self, method: Method[Any, R], arguments: msgspec.Struct) -> float:
        """Seconds that a call may take; what the language model may take is included."""
        more = method.seconds(arguments, self._supervisor.options)
        return SECONDS[method.lane(arguments)] + more


def _unwrapped(result: R | protocol.CancelledReply | protocol.FailedReply) -> R:
    if isinstance(result, protocol.CancelledReply):
        raise Cancelled
    if isinstance(result, protocol.FailedReply):
        raise CitewellError(result.problem)
    return result
