"""An agent brings works of an allowed source into the library: measured, with progress, cancelled."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.bulk import BulkServer


@pytest.fixture
def server() -> Iterator[BulkServer]:
    found = BulkServer(count=300, page=50)
    yield found
    found.close()


@pytest.fixture
def own(tmp_path: Path, server: BulkServer) -> dict[str, str]:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["crossref"]\nsearch = false\nbase_url = "{server.url}"\n',
        encoding="utf-8",
    )
    return {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_CONFIG": str(config),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_CACHE": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }


async def test_works_are_measured_then_fetched_with_progress_and_found_at_once(
    own: dict[str, str], tmp_path: Path, client: Any, server: BulkServer
) -> None:
    server.slow = 0.6
    messages: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        messages.append(message)

    wanted = {"request": "crossref --query trees"}
    async with client(own, "--root", str(tmp_path), "--allow-write") as session:
        size = (await session.call_tool("fetch_papers", wanted)).structured_content
        assert size == {"size": "crossref: 300 works, about 1 MB and 1 min", "fetched": 0}
        assert not (tmp_path / "data" / "libraries").exists()
        done = await session.call_tool(
            "fetch_papers", {**wanted, "write": True}, progress_callback=progress
        )
        assert done.structured_content["fetched"] == done.structured_content["papers"] == 300
        assert "fetching" in messages and "fetch" in messages
        for _ in range(100):
            query = {"query": "growth of the Cedar number 12"}
            found = (await session.call_tool("search_papers", query)).structured_content
            if found["papers"]:
                break
            await asyncio.sleep(0.1)
        assert found["papers"][0]["title"] == "On the growth of the Cedar number 12"
        refused = await session.call_tool("fetch_papers", {"request": "arxiv --category cs.CL"})
        assert refused.is_error and "sources allow arxiv" in refused.content[0].text
        outside = {"request": f"--for {tmp_path.parent / 'other.bib'}"}
        refused = await session.call_tool("fetch_papers", outside)
        assert refused.is_error and "may read" in refused.content[0].text


async def test_a_call_that_is_cancelled_ends_the_fetch(
    own: dict[str, str], tmp_path: Path, client: Any, server: BulkServer
) -> None:
    server.page, server.slow = 5, 0.3
    wanted = {"request": "crossref --query trees", "write": True}
    async with client(own, "--root", str(tmp_path), "--allow-write") as session:
        call = asyncio.ensure_future(session.call_tool("fetch_papers", wanted))
        for _ in range(600):
            if len(server.requests) > 6:
                break
            await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        for _ in range(100):
            before = len(server.requests)
            await asyncio.sleep(1.0)
            if len(server.requests) == before:
                break
        assert before < 60, "the fetch went on"
        server.page, server.slow = 200, 0.0
        done = (await session.call_tool("fetch_papers", wanted)).structured_content
        assert done["fetched"] < done["papers"] == 300


async def test_the_tool_is_not_offered_where_it_may_do_nothing(
    own: dict[str, str], tmp_path: Path, client: Any
) -> None:
    async with client(own, "--root", str(tmp_path)) as session:
        assert "fetch_papers" not in {one.name for one in (await session.list_tools()).tools}
    quiet = own | {"CITEWELL_SOURCES_ALLOW": ""}
    async with client(quiet, "--root", str(tmp_path), "--allow-write") as session:
        assert "fetch_papers" not in {one.name for one in (await session.list_tools()).tools}
