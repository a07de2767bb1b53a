"""One deadline for all that an act asks, and no long wait for a source that says nothing."""

import asyncio
from typing import Any

import pytest

from citewell.sources import service as budgets
from citewell.sources.contract import Failed, Matched, NoMatch, SourceQuery
from citewell.sources.service import Sources, TimeBudget

WANTED = [SourceQuery(doi=f"10.1000/{n}", title=f"A long title number {n}") for n in range(3)]


class Fetch:
    """Sources that answer at once, or never, or once in a while."""

    def __init__(self, hanging: tuple[str, ...] = (), slow: dict[str, float] | None = None) -> None:
        self.hanging = hanging
        self.slow = slow or {}
        self.requests: list[str] = []

    async def __call__(self, source: Any, ask: Any, decode: Any) -> Any:
        self.requests.append(source.name)
        if source.name in self.hanging:
            await asyncio.sleep(3600)
        await asyncio.sleep(self.slow.get(source.name, 0))
        return NoMatch(source.name)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "SILENCE", 0.1)


async def test_a_source_that_hangs_costs_no_answer_of_the_others() -> None:
    fetch = Fetch(hanging=("crossref",))
    sources, budget = Sources(("crossref", "datacite"), fetch), TimeBudget(30)
    for answers in await sources.by_ids(WANTED, budget):
        by_name = {answer.source: answer for answer in answers.doi}
        assert isinstance(by_name["crossref"], Failed)
        assert isinstance(by_name["datacite"], NoMatch | Matched)
    (problem,) = budget.problems
    assert problem.code == "check-incomplete" and "Crossref" in problem.message
    assert "DataCite" not in problem.message


async def test_a_silent_source_is_not_asked_again_in_the_same_act_or_the_next() -> None:
    fetch = Fetch(hanging=("crossref",))
    sources = Sources(("crossref",), fetch)
    for _ in range(3):
        budget = TimeBudget(30)
        await sources.by_ids(WANTED[:1], budget)
        await sources.match(WANTED[:1], budget=budget)
        assert budget.problems
    assert len(fetch.requests) == 1


async def test_a_slow_source_is_waited_for_while_it_answers() -> None:
    fetch = Fetch(slow={"crossref": 0.06})
    sources, budget = Sources(("crossref",), fetch), TimeBudget(30)
    answers = await sources.by_ids([SourceQuery(doi=f"10.1000/{n}") for n in range(8)], budget)
    assert all(isinstance(one.doi[0], NoMatch | Matched) for one in answers)
    assert budget.problems == ()


async def test_after_the_deadline_nothing_is_asked_and_that_is_said() -> None:
    fetch = Fetch()
    sources, budget = Sources(("crossref", "datacite"), fetch), TimeBudget(0)
    answers = await sources.by_ids(WANTED, budget)
    answers += await sources.match(WANTED, budget=budget)
    assert fetch.requests == []
    assert all(isinstance(answer, Failed) for one in answers for answer in one.all)
    assert "was not queried" in answers[0].all[0].message


async def test_cancelling_an_act_cancels_what_it_asked() -> None:
    fetch = Fetch(hanging=("crossref",))
    sources = Sources(("crossref",), fetch)
    task = asyncio.ensure_future(sources.by_ids(WANTED[:1], TimeBudget(30)))
    while not fetch.requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1
