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
