"""A literature search by an agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Agent = Callable[..., Any]


async def ask(agent: Agent, **arguments: Any) -> Any:
    async with agent() as client:
        return await client.call_tool("explore_papers", arguments)


async def test_papers_come_with_reasons_and_with_what_was_understood(agent: Agent) -> None:
    found = await ask(agent, query="attention since 2016", k=8)
    assert not found.is_error, found.content
    page = found.structured_content
    assert page["status"] == "found"
    assert 0 < len(page["papers"]) <= 8
    for paper in page["papers"]:
        assert paper["year"] >= 2016
        assert "#" not in paper.get("reason", "")
        assert not paper.get("reason", "").startswith("its title"), "the title is beside it"
    assert "Understood: year: 2016-" in page["notes"]


async def test_a_small_budget_cuts_the_list_and_says_so(agent: Agent) -> None:
    found = await ask(agent, query="attention", k=20, max_tokens=1)
    page = found.structured_content
    assert len(page["papers"]) == 1
    assert "more papers: raise max_tokens" in page["notes"]


async def test_an_overview_names_only_papers_of_the_list(agent: Agent) -> None:
    found = await ask(agent, query="attention", k=12, overview=True)
    page = found.structured_content
    listed = {paper["id"] for paper in page["papers"]}
    assert "paper" in page["overview"]
    assert set(re.findall(r"fx:[0-9]+", page["overview"])) <= listed


async def test_an_empty_question_and_unknown_ids_are_errors(agent: Agent) -> None:
    empty = await ask(agent)
    assert empty.is_error
    assert "explore-empty" in empty.content[0].text
    unknown = await ask(agent, query="attention", kept=["none"])
    assert unknown.is_error
    assert "record-unknown" in unknown.content[0].text


async def test_progress_names_each_pass(agent: Agent) -> None:
    seen: list[str] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    async with agent() as client:
        await client.call_tool(
            "explore_papers", {"query": "attention"}, progress_callback=on_progress
        )
    assert any(one.startswith("search: ") for one in seen)
