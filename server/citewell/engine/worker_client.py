"""The front end's side of the worker process: an `Engine` that survives the death of its engine.

Every call is a numbered request; a reader thread settles futures as replies arrive, a writer
thread keeps a full pipe from blocking the caller. When the child dies the requests in flight
fail with `engine-restarted`, and the next request starts another child.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from citewell.engine import protocol
from citewell.engine.contract import Checks, EngineStatus, Related, Tier
from citewell.engine.exchange import Exchange
from citewell.engine.supervisor import Supervisor
from citewell.model import CitewellError, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Claim
from citewell.model.direction import Direction
from citewell.model.feedback import Feedback
from citewell.model.llm import Picked, Supported
from citewell.options import Options


class WorkerEngine:
    """`Engine` over a child process; also `find_async` for an event loop. Safe across threads."""

    def __init__(self, options: Options, *, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._supervisor = Supervisor(options, command)
        self._exchange = Exchange(self._supervisor)
        self._numbers = itertools.count(1)

    # -- the contract ---------------------------------------------------------------------

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        """The best `k` works; problems of the engine stand in the result."""
        try:
            reply = self._exchange.wait(self._find_request(query, k, tier, cancel), cancel)
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
            return self._results(await self._exchange.reply(request, cancel.remaining))[0]
        except CitewellError as error:
            return SearchResult(problems=(error.problem,))

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
                results += self._results(self._exchange.wait(request, cancel))
            except CitewellError as error:
                results += [SearchResult(problems=(error.problem,))] * len(part)
        return results

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order."""
        return self._exchange.retried(
            lambda: self._works(protocol.WorksRequest(next(self._numbers), tuple(ids)))
        )

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this identifier, title or source key."""
        found = self._exchange.retried(
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
            reply = self._exchange.wait(request, None)
            assert isinstance(reply, protocol.RelatedReply)
            return reply.result

        try:
            return self._exchange.retried(ask)
        except CitewellError as error:
            return Related(problems=(error.problem,))

    def check(
        self,
        claims: Sequence[Claim],
        *,
        online: bool = False,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> Checks:
        """Is each reference real, and right? Problems of the engine stand in the result."""
        request = protocol.CheckRequest(next(self._numbers), tuple(claims), online, seconds)
        try:
            return _checks(self._exchange.wait(request, cancel))
        except CitewellError as error:
            return Checks(problems=(error.problem,))

    async def check_async(
        self, claims: Sequence[Claim], *, online: bool = False, seconds: float | None = None
    ) -> Checks:
        """`check` without blocking the loop; cancelling the task cancels it in the child."""
        request = protocol.CheckRequest(next(self._numbers), tuple(claims), online, seconds)
        try:
            return _checks(await self._exchange.reply(request))
        except CitewellError as error:
            return Checks(problems=(error.problem,))

    def learn(self, feedback: Feedback) -> tuple[Problem, ...]:
        """Keep what an author accepted and dismissed; why it could not be kept."""
        request = protocol.LearnRequest(next(self._numbers), feedback)
        try:
            return _learned(self._exchange.wait(request, None))
        except CitewellError as error:
            return (error.problem,)

    async def learn_async(self, feedback: Feedback) -> tuple[Problem, ...]:
        """`learn` without blocking the loop."""
        request = protocol.LearnRequest(next(self._numbers), feedback)
        try:
            return _learned(await self._exchange.reply(request))
        except CitewellError as error:
            return (error.problem,)

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """Which of the works to cite; the first when the engine fails."""
        try:
            return _picked(self._exchange.wait(self._pick_request(query, works), cancel))
        except CitewellError as error:
            return Picked(work=works[0].id if works else "", problem=error.problem)

    async def pick_async(self, query: Query, works: Sequence[Work]) -> Picked:
        """`pick` without blocking the loop; cancelling the task cancels it in the child."""
        try:
            return _picked(await self._exchange.reply(self._pick_request(query, works)))
        except CitewellError as error:
            return Picked(work=works[0].id if works else "", problem=error.problem)

    def verify(self, sentence: str, work: Work, *, cancel: Cancel | None = None) -> Supported:
        """Whether the work's abstract supports the sentence."""
        request = protocol.VerifyRequest(next(self._numbers), sentence, work)
        try:
            return _supported(self._exchange.wait(request, cancel))
        except CitewellError as error:
            return Supported(problem=error.problem)

    async def verify_async(self, sentence: str, work: Work) -> Supported:
        """`verify` without blocking the loop; cancelling the task cancels it in the child."""
        request = protocol.VerifyRequest(next(self._numbers), sentence, work)
        try:
            return _supported(await self._exchange.reply(request))
        except CitewellError as error:
            return Supported(problem=error.problem)

    def status(self) -> EngineStatus:
        """What answers in the child; a child that cannot answer is a problem in the status."""

        def ask() -> EngineStatus:
            reply = self._exchange.wait(protocol.StatusRequest(next(self._numbers)), None)
            assert isinstance(reply, protocol.StatusReply)
            return reply.status

        try:
            return self._exchange.retried(ask)
        except CitewellError as error:
            return EngineStatus(problems=(error.problem,))

    async def status_async(self) -> EngineStatus:
        """`status` without blocking the loop."""
        try:
            reply = await self._exchange.reply(protocol.StatusRequest(next(self._numbers)))
        except CitewellError as error:
            return EngineStatus(problems=(error.problem,))
        assert isinstance(reply, protocol.StatusReply)
        return reply.status

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        self._supervisor.close()

    # -- beyond the contract --------------------------------------------------------------

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""
        self._supervisor.start()

    def stop(self) -> None:
        """End the child at once; what is in flight fails with `engine-restarted`."""
        self._supervisor.stop()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        return self._supervisor.configure(options)

    @property
    def begun(self) -> bool:
        """True once the child was wanted, whether it lives or not."""
        return self._supervisor.begun

    def status_at_rest(self) -> EngineStatus:
        """What is known without a child."""
        from citewell.engine.at_rest import status_at_rest

        return status_at_rest(self._supervisor.options)

    @property
    def pid(self) -> int:
        """Process id of the child; 0 when there is none."""
        child = self._supervisor.running()
        return child.pid if child is not None else 0

    # -- inside ---------------------------------------------------------------------------

    def _find_request(
        self, query: Query, k: int, tier: Tier, cancel: Cancel | None
    ) -> protocol.FindRequest:
        seconds = cancel.remaining if cancel is not None and cancel.deadline is not None else None
        return protocol.FindRequest(next(self._numbers), (query,), k, tier, seconds=seconds)

    def _pick_request(self, query: Query, works: Sequence[Work]) -> protocol.PickRequest:
        return protocol.PickRequest(next(self._numbers), query, tuple(works))

    def _results(self, reply: protocol.Reply) -> list[SearchResult]:
        assert isinstance(reply, protocol.ResultsReply)
        return list(reply.results)

    def _works(self, request: protocol.WorksRequest | protocol.LookupRequest) -> list[Work | None]:
        reply = self._exchange.wait(request, None)
        assert isinstance(reply, protocol.WorksReply)
        return list(reply.works)


def _picked(reply: protocol.Reply) -> Picked:
    assert isinstance(reply, protocol.PickedReply)
    return reply.picked


def _supported(reply: protocol.Reply) -> Supported:
    assert isinstance(reply, protocol.SupportedReply)
    return reply.supported


def _checks(reply: protocol.Reply) -> Checks:
    assert isinstance(reply, protocol.ChecksReply)
    return reply.result


def _learned(reply: protocol.Reply) -> tuple[Problem, ...]:
    assert isinstance(reply, protocol.LearnedReply)
    return reply.problems
