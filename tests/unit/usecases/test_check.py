"""The check as one task: its parts, what is added while it runs, and what it keeps."""

import asyncio

import pytest

from citewell.engine.contract import Checks
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, Verdict
from citewell.usecases.check import CheckTask


class Judge:
    """An engine that finds every reference right, and remembers in which parts it was asked."""

    def __init__(self) -> None:
        self.parts: list[list[str]] = []
        self.problem: Problem | None = None

    def check(self, claims, *, online=False, seconds=None, cancel=None):
        if self.problem is not None:
            return Checks(problems=(self.problem,))
        self.parts.append([claim.key for claim in claims])
        checks = tuple(Check(claim=claim, verdict=Verdict.VERIFIED) for claim in claims)
        return Checks(checks, f"snapshot-{len(self.parts)}")


def claims(names: str) -> list[Claim]:
    return [Claim(key=name, title=name) for name in names]


def keys(checks) -> str:
    return "".join(check.claim.key for check in checks)


async def here(step):
    return step(Cancel())


def test_what_is_added_while_a_check_runs_is_looked_up_after_the_rest() -> None:
    judge, reports = Judge(), []
    task = CheckTask(judge, claims("abc"), size=2)

    async def run() -> list[str]:
        found = []
        async for checks in task.parts(
            here, lambda stage, done, total: reports.append((done, total))
        ):
            if not found:
                task.add(claims("de"))
            found.append(keys(checks))
        return found

    assert asyncio.run(run()) == ["ab", "cd", "e"]
    assert judge.parts == [["a", "b"], ["c", "d"], ["e"]]
    assert reports == [(0, 3), (2, 5), (4, 5)]
    assert keys(task.checks) == "abcde"
    assert task.is_done and task.snapshot == "snapshot-3"


def test_a_task_that_keeps_nothing_returns_every_verdict_once() -> None:
    task = CheckTask(Judge(), claims("abc"), size=2, keep=False)
    assert [keys(task.step()), keys(task.step())] == ["ab", "c"]
    assert task.checks == [] and task.is_done and task.total == 3


def test_a_part_without_an_answer_raises_and_can_be_asked_again() -> None:
    judge = Judge()
    task = CheckTask(judge, claims("abc"), size=2)
    task.step()
    judge.problem = Problem("engine-restarted", "The engine restarted.", "Ask again.")
    with pytest.raises(CitewellError, match="restarted"):
        task.step()
    judge.problem = None
    assert keys(task.run().checks) == "abc"
