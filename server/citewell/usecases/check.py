"""Are references real, and right? Looked up part by part, so that others get their turn.

What the references of a text or a file say is read by `features.check`; the engine judges them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from citewell.engine.contract import Checks, Engine
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, Verdict
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.find import Progress, no_progress

CHECKING = "checking references"
SLICE = 64
"""References that are checked in one go, between two reports of progress."""
FEWEST_OUTSIDE, SHARE_OUTSIDE = 10, 0.5
"""References, and their share of all, that the library must lack to be called outside its field."""
_NO_ANSWER = Problem("check-failed", "The check returned no result.", "Ask again.")

Step = Callable[[Cancel], list[Check]]
"""Looks up the next part."""
_DECODER = msgspec.msgpack.Decoder(Claim)


def _claim(given: Claim | bytes) -> Claim:
    return _DECODER.decode(given) if isinstance(given, bytes) else given


def outside(checks: Sequence[Check]) -> Problem | None:
    """The problem that the library lacks most of the references, whose field is another one."""
    lacking = sum(check.verdict is Verdict.NOT_FOUND for check in checks)
    if lacking < FEWEST_OUTSIDE or lacking < SHARE_OUTSIDE * len(checks):
        return None
    return Problem(
        "library-outside",
        f"{lacking:,} of {len(checks):,} references are outside the library, which is no evidence "
        "against them.",
        "To check them, allow a source with `citewell sources allow crossref` and add --online; or "
        "fetch works of their field with `citewell library fetch`.",
    )


def check_addresses(checks: Sequence[Check]) -> list[Check]:
    """The checks with a note for each web address that does not exist any more.

    Asks the hosts of the addresses, one request for each. Raises `CitewellError` without the extra
    `online`.
    """
    import asyncio

    from citewell.engine.online import missing_package
    from citewell.verification.online import address_of, with_address

    if (problem := missing_package()) is not None:
        raise CitewellError(problem)
    from citewell.sources.web.addresses import gone

    found = asyncio.run(gone(filter(None, (address_of(check.claim) for check in checks))))
    return [with_address(check, found) for check in checks]


class CheckTask:
    """References that are looked up, in parts."""

    def __init__(
        self,
        engine: Engine,
        claims: Sequence[Claim | bytes] = (),
        *,
        online: bool = False,
        seconds: float = ONLINE_SECONDS,
        size: int = SLICE,
        keep: bool = True,
    ) -> None:
        """A claim may be given as MessagePack, which takes a tenth of the memory. With `online`,
        the allowed sources are also queried, for this many seconds; infinity: until all have
        answered. `size` is the number of references in a part. Without `keep` only `step` and
        `parts` return verdicts, of which there may be too many to hold."""
        self._engine = engine
        self._waiting: list[Claim | bytes] = list(claims)
        self._done = 0
        self._online = online
        self._ends = time.monotonic() + seconds
        self._size = size
        self._keep = keep
        self.checks: list[Check] = []
        """The verdicts so far, in order."""
        self.snapshot = ""
        """Of the library with whose records the last part was compared."""
        self._problems: dict[Problem, None] = {}

    @property
    def total(self) -> int:
        """How many references there are."""
        return self._done + len(self._waiting)

    @property
    def is_done(self) -> bool:
        """True when all are looked up."""
        return not self._waiting

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong beside the verdicts, each once; in the end also that the library, if it
        alone was asked, does not cover the references."""
        found = tuple(self._problems)
        if self.is_done and not self._online and (problem := outside(self.checks)) is not None:
            return (*found, problem)
        return found

    def add(self, claims: Sequence[Claim | bytes]) -> None:
        """Look these references up after the others; also while the task runs."""
        self._waiting += claims

    def step(self, cancel: Cancel | None = None) -> list[Check]:
        """The verdicts of the next part.

        Raises `Cancelled`, and `CitewellError` where the engine gives no answer.
        """
        part = [_claim(one) for one in self._waiting[: self._size]]
        left = max(0.0, self._ends - time.monotonic()) if self._online else None
        found = self._engine.check(part, online=self._online, seconds=left, cancel=cancel)
        if len(found.checks) != len(part):
            raise CitewellError(next(iter(found.problems), _NO_ANSWER))
        del self._waiting[: len(part)]
        self._done += len(part)
        if self._keep:
            self.checks += found.checks
        self.snapshot = found.snapshot
        self._problems |= dict.fromkeys(found.problems)
        return list(found.checks)

    def run(self, progress: Progress = no_progress, cancel: Cancel | None = None) -> Checks:
        """All verdicts, in order. Raises as `step` does."""
        while not self.is_done:
            if cancel is not None:
                cancel.check()
            progress(CHECKING, self._done, self.total)
            self.step(cancel)
        return Checks(tuple(self.checks), self.snapshot, self.problems)

    async def parts(
        self, run: Callable[[Step], Awaitable[list[Check]]], progress: Progress = no_progress
    ) -> AsyncIterator[list[Check]]:
        """The verdicts part by part, for an event loop: `run` runs a step on a thread, and cancels
        it when its own task is cancelled. Raises as `step` does."""
        while not self.is_done:
            progress(CHECKING, self._done, self.total)
            yield await run(self.step)
