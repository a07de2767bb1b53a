"""An agent's search asks the sources that the user allowed, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

QUERY = "the patience of kettles"


@pytest.mark.parametrize("allowed", ["openreview", ""])
async def test_a_search_waits_for_the_allowed_sources(
    client: Any, env: dict[str, str], fake_sources: Any, tmp_path: Path, allowed: str
) -> None:
    config = tmp_path / "config.toml"
    names = [allowed] if allowed else []
    config.write_text(f'[sources]\nallow = {names}\nbase_url = "{fake_sources.url}"\n')
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    fake_sources.log.clear()
    async with client(own) as session:
        found = await session.call_tool("search_papers", {"query": QUERY, "online": True})
    page = found.structured_content
    titles = [paper["title"] for paper in page["papers"]]
    if allowed:
        assert any("Patience of Kettles" in title for title in titles), page
    else:
        assert "[sources-off]" in page["notes"] and fake_sources.log == []


async def test_a_search_names_the_sources_that_have_not_answered(
    client: Any, env: dict[str, str], fake_sources: Any, fakes: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["openreview", "crossref"]\nbase_url = "{fake_sources.url}"\n'
    )
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    fake_sources.fail("crossref", fakes.Fault(kind="hang"))
    try:
        async with client(own) as session:
            found = await session.call_tool("search_papers", {"query": QUERY, "online": True})
    finally:
        fake_sources.faults.clear()
    page = found.structured_content
    assert any("Patience of Kettles" in paper["title"] for paper in page["papers"]), page
    assert "Crossref did not answer in time" in page["notes"] and "OpenReview" not in page["notes"]
