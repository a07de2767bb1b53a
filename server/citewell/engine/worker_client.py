"""The front end's side of the worker process: an `Engine` that survives the death of its engine.

Every call is a numbered request; a reader thread settles futures as replies arrive, a writer
thread keeps a full pipe from blocking the caller. When the child dies the requests in flight
fail with `engine-restarted`, and the next request starts another child.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import TypeVar

from citewell.engine import protocol
from citewell.engine.child import Child, ChildEndedError
from citewell.engine.contract import Checks, EngineStatus, Related, Tier
from citewell.model import CitewellError, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Claim
from citewell.model.direction import Direction
from citewell.model.feedback import Feedback
from citewell.model.llm import Picked, Supported
from citewell.options import Options

logger = logging.getLogger(__name__)

SECONDS: dict[protocol.Lane, float] = {
    "quick": 30.0,
    "fast": 30.0,
    "full": 180.0,
    "check": 180.0,
    "llm": 180.0,
}
"""How long a request may take before it is given up. A cold start is inside of it."""
SECONDS_PER_QUERY = 5.0
STUCK_SECONDS = 25.0
FREE_DEATHS = 3
"""So many children may die in a row before the next one is delayed."""
MAX_DELAY = 60.0

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
CLOSED = Problem("engine-closed", "The search engine is closed.", "Restart the language server.")

R = TypeVar("R")


class WorkerEngine:
    """`Engine` over a child process; also `find_async` for an event loop. Safe across threads."""

    def __init__(self, options: Options, *, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._options = options
        self._command = tuple(command) if command else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._numbers = itertools.count(1)
        self._deaths = 0
        self._not_before = 0.0
        self._closed = False
        self._last_words = ""

    # -- the contract ---------------------------------------------------------------------

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        """The best `k` works; problems of the engine stand in the result."""
        try:
            reply = self._wait(self._find_request(query, k, tier, cancel), cancel)
        except CitewellError as error:
            return SearchResult(problems=(error.problem,))
        return reply.results[0] if isinstance(reply, protocol.ResultsReply) else SearchResult()

    async def find_async(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", seconds: float | None = None
    ) -> SearchResult:
        """`find` without blocking the loop; cancelling the task cancels the search in the child."""
        cancel = Cancel(seconds)
        request = self._find_request(query, k, tier, cancel)
        try:
            return self._results(await self._reply_async(request, cancel.remaining))[0]
        except CitewellError as error:
            return SearchResult(problems=(error.problem,))

    async def _reply_async(
        self, request: protocol.NumberedRequest, seconds: float = float("inf")
    ) -> protocol.Reply:
        """Send and await the reply. Raises `CitewellError` with the reason; cancelling the task
        cancels the request in the child."""
        limit = min(self._limit(request), seconds)
        started = time.monotonic()
        try:
            # Starting a process takes milliseconds, which a loop that answers hovers has not.
            child = self._running()
            if child is None:
                child = await asyncio.to_thread(self._ensure)
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

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int = 20,
        *,
        tier: Tier = "fast",
        cancel: Cancel | None = None,
    ) -> list[SearchResult]:
        """The same for many queries; a part that fails has the problem in each of its results."""
        results: list[SearchResult] = []
        for start in range(0, len(queries), protocol.BATCH):
            part = tuple(queries[start : start + protocol.BATCH])
            request = protocol.FindRequest(next(self._numbers), part, k, tier, batch=True)
            try:
                results += self._results(self._wait(request, cancel))
            except CitewellError as error:
                results += [SearchResult(problems=(error.problem,))] * len(part)
        return results

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order."""
        return self._retried(
            lambda: self._works(protocol.WorksRequest(next(self._numbers), tuple(ids)))
        )

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this identifier, title or source key."""
        found = self._retried(
            lambda: self._works(
                protocol.LookupRequest(next(self._numbers), doi, arxiv, title, bibkey)
            )
        )
        return [work for work in found if work is not None]

    def related(
        self, identifier: str, direction: Direction, k: int = 20, *, offset: int = 0
    ) -> Related:
        """The papers beside one in the citation graph; problems stand in the result."""

        def ask() -> Related:
            number = next(self._numbers)
            request = protocol.RelatedRequest(number, identifier, direction, k, offset)
            reply = self._wait(request, None)
            assert isinstance(reply, protocol.RelatedReply)
            return reply.result

        try:
            return self._retried(ask)
        except CitewellError as error:
            return Related(problems=(error.problem,))

    def check(
        self, claims: Sequence[Claim], *, online: bool = False, cancel: Cancel | None = None
    ) -> Checks:
        """Is each reference real, and right? Problems of the engine stand in the result."""
        request = protocol.CheckRequest(next(self._numbers), tuple(claims), online)
        try:
            return _checks(self._wait(request, cancel))
        except CitewellError as error:
            return Checks(problems=(error.problem,))

    async def check_async(self, claims: Sequence[Claim], *, online: bool = False) -> Checks:
        """`check` without blocking the loop; cancelling the task cancels it in the child."""
        request = protocol.CheckRequest(next(self._numbers), tuple(claims), online)
        try:
            return _checks(await self._reply_async(request))
        except CitewellError as error:
            return Checks(problems=(error.problem,))

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Keep what an author accepted and dismissed; why it could not be kept."""
        request = protocol.LearnRequest(next(self._numbers), feedback)
        try:
            return _learned(self._wait(request, None))
        except CitewellError as error:
            return (error.problem,)

    async def learn_async(self, feedback: Feedback) -> tuple[Problem, ...]:
        """`learn` without blocking the loop."""
        request = protocol.LearnRequest(next(self._numbers), feedback)
        try:
            return _learned(await self._reply_async(request))
        except CitewellError as error:
            return (error.problem,)

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Which of the works to cite; the first when the engine fails."""
        try:
            return _picked(self._wait(self._pick_request(query, works), cancel))
        except CitewellError as error:
            return Picked(work=works[0].id if works else "", problem=error.problem)

    async def pick_async(self, query: Query, works: Sequence[Work]) -> Picked:
        """`pick` without blocking the loop; cancelling the task cancels it in the child."""
        try:
            return _picked(await self._reply_async(self._pick_request(query, works)))
        except CitewellError as error:
            return Picked(work=works[0].id if works else "", problem=error.problem)

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence."""
        request = protocol.VerifyRequest(next(self._numbers), sentence, work)
        try:
            reply = self._wait(request, cancel)
        except CitewellError as error:
            return Supported(problem=error.problem)
        assert isinstance(reply, protocol.SupportedReply)
        return reply.supported

    def status(self) -> EngineStatus:
        """What answers in the child; a child that cannot answer is a problem in the status."""

        def ask() -> EngineStatus:
            reply = self._wait(protocol.StatusRequest(next(self._numbers)), None)
            assert isinstance(reply, protocol.StatusReply)
            return reply.status

        try:
            return self._retried(ask)
        except CitewellError as error:
            return EngineStatus(problems=(error.problem,))

    async def status_async(self) -> EngineStatus:
        """`status` without blocking the loop."""
        try:
            reply = await self._reply_async(protocol.StatusRequest(next(self._numbers)))
        except CitewellError as error:
            return EngineStatus(problems=(error.problem,))
        assert isinstance(reply, protocol.StatusReply)
        return reply.status

    def stop(self) -> None:
        """End the child at once, whatever it does; what is in flight fails with `engine-restarted`,
        and the next request starts another child."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            threading.Thread(target=child.close, daemon=True).start()

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()

    # -- beyond the contract --------------------------------------------------------------

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""

        def quietly() -> None:
            try:
                self._ensure()
            except CitewellError as error:
                logger.warning("%s", error)

        threading.Thread(target=quietly, name="citewell-spawn", daemon=True).start()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        with self._lock:
            if options == self._options:
                return False
            self._options = options
            self._deaths, self._not_before = 0, 0.0
            child, self._child = self._child, None
        if child is not None:
            threading.Thread(target=child.retire, daemon=True).start()
            self.start()
        return child is not None

    @property
    def pid(self) -> int:
        """Process id of the child; 0 when there is none."""
        child = self._running()
        return child.pid if child is not None else 0

    # -- inside ---------------------------------------------------------------------------

    def _running(self) -> Child | None:
        child = self._child
        return child if child is not None and child.alive else None

    def _ensure(self) -> Child:
        with self._lock:
            if self._closed:
                raise CitewellError(CLOSED)
            if self._child is not None and self._child.alive:
                return self._child
            if self._child is not None:
                self._mourn(self._child)
                self._child = None
            if (wait := self._not_before - time.monotonic()) > 0:
                raise CitewellError(self._down(wait))
            try:
                self._child = Child(self._options, self._command)
            except OSError as error:
                self._deaths += 1
                self._last_words = str(error)
                self._delay()
                raise CitewellError(self._down(self._not_before - time.monotonic())) from error
            return self._child

    def _mourn(self, child: Child) -> None:
        """Count the death of a child that never answered; forgive the others."""
        self._deaths = 1 if child.answered else self._deaths + 1
        self._last_words = child.last_words
        logger.warning("The engine process %d ended (%s)", child.pid, child.last_words or "no word")
        self._delay()

    def _delay(self) -> None:
        if self._deaths >= FREE_DEATHS:
            seconds = min(MAX_DELAY, 2.0 ** (self._deaths - FREE_DEATHS + 1))
            self._not_before = time.monotonic() + seconds

    def _down(self, wait: float) -> Problem:
        words = f" Its last words: {self._last_words}" if self._last_words else ""
        return Problem(
            "engine-down",
            f"The search engine stopped {self._deaths} times in a row.{words}",
            f"Run `citewell doctor`. The next try is in {max(1, round(wait))} s.",
        )

    def _find_request(
        self, query: Query, k: int, tier: Tier, cancel: Cancel | None
    ) -> protocol.FindRequest:
        seconds = cancel.remaining if cancel is not None and cancel.deadline is not None else None
        return protocol.FindRequest(next(self._numbers), (query,), k, tier, seconds=seconds)

    def _pick_request(self, query: Query, works: Sequence[Work]) -> protocol.PickRequest:
        return protocol.PickRequest(next(self._numbers), query, tuple(works))

    def _wait(self, request: protocol.NumberedRequest, cancel: Cancel | None) -> protocol.Reply:
        """Send and wait in this thread. Raises `Cancelled`, or `CitewellError` with the reason."""
        if cancel is not None:
            cancel.check()
        child = self._ensure()
        deadline = time.monotonic() + self._limit(request)
        try:
            future = child.request(request)
            return self._settle(child, request.id, future, deadline, cancel)
        except ChildEndedError as error:
            raise CitewellError(RESTARTED) from error

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
        own = self._options.llm
        asks = 0 if own.provider == "none" else (own.rerank != "none") + own.reformulate
        seconds = SECONDS[protocol.lane_of(request)]
        if isinstance(request, protocol.FindRequest):
            slow = asks * own.timeout_ms / 1e3 if request.tier == "deep" else 0.0
            each = slow + (SECONDS_PER_QUERY if request.batch else 0.0)
            return seconds + len(request.queries) * each
        if isinstance(request, protocol.PickRequest | protocol.VerifyRequest):
            return seconds + own.timeout_ms / 1e3
        return seconds

    def _results(self, reply: protocol.Reply) -> list[SearchResult]:
        reply = _unwrap(reply)
        assert isinstance(reply, protocol.ResultsReply)
        return list(reply.results)

    def _works(self, request: protocol.WorksRequest | protocol.LookupRequest) -> list[Work | None]:
        reply = self._wait(request, None)
        assert isinstance(reply, protocol.WorksReply)
        return list(reply.works)

    def _retried(self, ask: Callable[[], R]) -> R:
        """A look-up that the child's death cut off is asked once more of the next child."""
        try:
            return ask()
        except CitewellError as error:
            if error.problem.code != RESTARTED.code:
                raise
            return ask()


def _picked(reply: protocol.Reply) -> Picked:
    assert isinstance(reply, protocol.PickedReply)
    return reply.picked


def _checks(reply: protocol.Reply) -> Checks:
    assert isinstance(reply, protocol.ChecksReply)
    return reply.result


def _learned(reply: protocol.Reply) -> tuple[Problem, ...]:
    assert isinstance(reply, protocol.LearnedReply)
    return reply.problems


def _unwrap(reply: protocol.Reply) -> protocol.Reply:
    if isinstance(reply, protocol.CancelledReply):
        raise Cancelled
    if isinstance(reply, protocol.FailedReply):
        raise CitewellError(reply.problem)
    return reply
