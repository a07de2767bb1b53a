"""Several search processes over one library, for the agents of one server."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import psutil
import pytest

SETTINGS = {"CITEWELL_SERVE_WORKERS": "2"}
AGENTS = 4


def searching(root: int) -> list[psutil.Process]:
    """The search processes of a server."""
    children = psutil.Process(root).children(recursive=True)
    return [one for one in children if "citewell.engine.worker" in " ".join(one.cmdline())]


async def test_agents_share_the_search_processes_that_the_settings_name(
    env: dict[str, str], serving: Any, over_http: Any, structured: Any
) -> None:
    with serving(env | SETTINGS) as (url, server):

        async def ask(number: int) -> list[str]:
            async with over_http(url) as session:
                titles = []
                for call in range(3):
                    query = ("attention is all you need", "long short-term memory")[call % 2]
                    found = await structured(session, "search_papers", query=query)
                    titles.append(found["papers"][0]["title"])
                return titles

        answers = await asyncio.gather(*(ask(number) for number in range(AGENTS)))
        workers = searching(server.pid)
        assert len(workers) == 2
        if sys.platform == "linux":
            folder = os.path.realpath(env["CITEWELL_LIBRARY_PATH"])
            for one in workers:
                maps = [m for m in one.memory_maps(grouped=True) if m.path.startswith(folder)]
                assert maps and sum(m.private_dirty for m in maps) == 0
    wanted = ["Attention Is All You Need", "Long Short-Term Memory", "Attention Is All You Need"]
    assert answers == [wanted] * AGENTS


@pytest.mark.nightly
async def test_an_agent_is_answered_while_a_search_process_that_died_is_replaced(
    env: dict[str, str], serving: Any, over_http: Any, structured: Any
) -> None:
    with serving(env | SETTINGS) as (url, server):
        async with over_http(url) as session:
            await structured(session, "search_papers", query="attention")
            for one in (dead := searching(server.pid)):
                one.kill()
            psutil.wait_procs(dead, timeout=60)
            calls = [await session.call_tool("search_papers", {"query": "attention is all you need"})
                     for _ in range(6)]  # fmt: skip
            assert not calls[-1].is_error
            papers = calls[-1].structured_content["papers"]
            assert papers[0]["title"] == "Attention Is All You Need"


async def test_an_agent_on_pipes_has_one_search_process(
    env: dict[str, str], client: Any, structured: Any
) -> None:
    before = {one.pid for one in psutil.Process().children()}
    async with client(env | SETTINGS) as session:
        for _ in range(2):
            await structured(session, "search_papers", query="attention")
        (server,) = [one for one in psutil.Process().children() if one.pid not in before]
        assert len(searching(server.pid)) == 1
