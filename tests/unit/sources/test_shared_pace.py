"""The pace that processes agree on in a file, and what becomes of it without one."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra `online` is not installed")

from citewell.sources.adapters.crossref import Crossref
from citewell.sources.contract import Matched, Reason
from citewell.sources.web import shared_pace
from citewell.sources.web.client import RateLimiter, Web, WebOptions
from citewell.sources.web.shared_pace import FILE, LONGEST, STATED_SECONDS, SharedPace, Trouble

STATED = {"x-rate-limit-limit": "1", "x-rate-limit-interval": "4s"}
HOLDER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
database.execute("DELETE FROM pace")
print("held", flush=True)
sys.stdin.read()
"""


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair(tmp_path: Path, clock: Clock) -> tuple[SharedPace, SharedPace]:
    """The pace of one source as two processes have it."""
    return (
        SharedPace(tmp_path, "crossref", "Crossref", clock),
        SharedPace(tmp_path, "crossref", "Crossref", clock),
    )


async def test_a_turn_that_was_not_used_is_used_later_unless_another_one_follows_it(
    pair: tuple[SharedPace, SharedPace], clock: Clock
) -> None:
    one, other = pair
    await one.reserve(3.0)
    clock.now += 1
    assert await one.reserve(3.0, unused=True) == 0
    assert await other.reserve(3.0) == 3
    assert await one.reserve(3.0, unused=True) == 6


async def test_a_rest_is_kept_by_all_until_it_ends(
    pair: tuple[SharedPace, SharedPace], clock: Clock
) -> None:
    one, other = pair
    await one.rest(30.0)
    await other.rest(10.0)
    with pytest.raises(Trouble) as raised:
        await other.reserve(1.0)
    trouble = raised.value
    assert (trouble.reason, trouble.again, trouble.wait) == (Reason.RESTING, True, 30.0)
    assert trouble.message == "Crossref is paused for 30 s at its own request."
    clock.now += 31
    assert await other.reserve(1.0) == 0


async def test_a_request_that_waits_for_its_turn_learns_of_a_rest_meanwhile(
    pair: tuple[SharedPace, SharedPace],
) -> None:
    one, other = pair
    limiter = RateLimiter(20.0, 2, one)

    async def ask() -> None:
        async with limiter.turn():
            pass

    await ask()
    waiting = asyncio.create_task(ask())
    while not limiter._waiting.locked():
        await asyncio.sleep(0)
    await other.rest(600.0)
    with pytest.raises(Trouble) as raised:
        await waiting
    assert raised.value.wait == 600


async def test_nobody_rests_longer_than_the_limit(
    pair: tuple[SharedPace, SharedPace], clock: Clock
) -> None:
    one, other = pair
    await one.rest(1e9)
    clock.now += LONGEST + 1
    assert await other.reserve(1.0) == 0


async def test_the_rate_that_a_source_states_holds_for_all_for_a_while(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], clock: Clock
) -> None:
    one, other = pair
    limiter = RateLimiter(10.0, 2, one)
    limiter.learn(STATED)
    assert limiter.interval == 4.0
    assert [await other.reserve(0.1) for _ in range(3)] == [0, 4, 8]
    clock.now += STATED_SECONDS + 1
    assert [await other.reserve(0.5) for _ in range(3)] == [0, 0.5, 1]
    limiter.learn(STATED | {"x-rate-limit-limit": "500"})
    limiter.learn(STATED)
    clock.now += 100
    assert [await other.reserve(0.1) for _ in range(2)] == [0, 4]
    limiter.learn(STATED | {"x-rate-limit-limit": "500"})
    clock.now += 100
    assert [await other.reserve(0.5) for _ in range(2)] == [0, 0.5]


@pytest.mark.parametrize("change", [-86_400.0, -60.0, 86_400.0])
async def test_a_clock_that_was_corrected_makes_nobody_wait(
    pair: tuple[SharedPace, SharedPace], clock: Clock, change: float
) -> None:
    one, other = pair
    for _ in range(3):
        await one.reserve(3.0)
    clock.now += change
    assert await other.reserve(3.0) == 0
    assert await one.reserve(3.0) == 3


async def test_a_time_that_lies_too_far_ahead_is_cut(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], clock: Clock
) -> None:
    one, _ = pair
    await one.reserve(3.0)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as database:
        database.execute("UPDATE pace SET next = 1e300, stated_until = 1e300")
    assert await one.reserve(3.0) == LONGEST


@pytest.mark.parametrize(
    "content", [b"this is no database" * 100, b"SQLite format 3\0" + b"x" * 9000]
)
async def test_a_damaged_file_is_replaced(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], content: bytes
) -> None:
    (tmp_path / FILE).write_bytes(content)
    one, other = pair
    assert [await one.reserve(3.0), await other.reserve(3.0)] == [0, 3]


async def test_a_process_that_dies_in_the_middle_holds_up_nobody(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_pace, "BUSY_SECONDS", 600.0)
    one, _ = pair
    await one.reserve(3.0)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / FILE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"held"

    async def end() -> None:  # runs once the reservation leaves the loop to others
        process.kill()
        process.communicate()

    seconds, _ = await asyncio.gather(one.reserve(3.0), end())
    assert seconds == 3


async def test_a_file_that_stays_in_use_is_not_waited_for(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_pace, "BUSY_SECONDS", 0.0)
    one, _ = pair
    await one.reserve(3.0)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        assert await one.reserve(3.0) is None
        one.state(4.0)
        await one.rest(60.0)
    assert await one.reserve(3.0) == 3


@pytest.mark.parametrize("folder", ["missing", "file/cache"])
async def test_without_a_folder_the_pace_is_that_of_the_process(
    tmp_path: Path, fake_sources: Any, folder: str
) -> None:
    (tmp_path / "file").touch()
    shared = SharedPace(tmp_path / folder, "crossref", "Crossref")
    assert await shared.reserve(3.0) is None
    await shared.rest(60.0)
    shared.state(4.0)
    assert not (tmp_path / folder).exists()
    web = Web([Crossref], WebOptions(base_url=fake_sources.url, pace=tmp_path / folder))
    answers = await asyncio.gather(*(Crossref(web).search(f"teacups {n}", 2) for n in range(4)))
    await web.aclose()
    assert not any(hasattr(answer, "reason") for answer in answers)
    times = sorted(one.at for one in fake_sources.of("crossref"))
    # A busy machine may delay the receipt of any one of them.
    assert times[-1] - times[0] >= 3 / Crossref.policy.per_second - 0.25


async def test_a_file_that_cannot_be_written_leaves_each_process_its_own_pace(
    tmp_path: Path, pair: tuple[SharedPace, SharedPace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a read-only file system; permissions do not stop an administrator who runs this."""
    one, _ = pair
    await one.reserve(3.0)
    monkeypatch.setattr(shared_pace, "_PRAGMAS", ("query_only = ON",))
    assert await one.reserve(3.0) is None


async def test_requests_that_are_cancelled_while_they_wait_take_no_turns(tmp_path: Path) -> None:
    """Typing on in an editor abandons one search after the other."""
    clock = Clock()
    shared = SharedPace(tmp_path, "crossref", "Crossref", clock)
    limiter = RateLimiter(1 / 30, 2, shared)

    async def ask() -> None:
        async with limiter.turn():
            pass

    await ask()
    for _ in range(5):
        task = asyncio.create_task(ask())
        while not limiter._waiting.locked():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    later = await SharedPace(tmp_path, "crossref", "Crossref", clock).reserve(30.0)
    assert later == 60


async def test_a_rest_of_another_process_counts_as_no_failure(
    tmp_path: Path, fake_sources: Any
) -> None:
    address = f"{fake_sources.url}/crossref"
    clock = Clock()
    web = Web([Crossref], WebOptions(base_url=fake_sources.url, pace=tmp_path))
    gate = web._gates["crossref"]
    gate.rate_limiter._shared = SharedPace(tmp_path, address, "Crossref", clock)
    await SharedPace(tmp_path, address, "Crossref", clock).rest(600.0)
    for _ in range(10):
        answer = await Crossref(web).search("teacups", 2)
        assert getattr(answer, "reason", None) is Reason.RESTING
    assert gate.breaker.resting == 0
    assert not fake_sources.log
    clock.now += 601
    assert isinstance(await Crossref(web).by_id("doi", "10.18653/v1/n19-1423"), Matched)
    await web.aclose()
