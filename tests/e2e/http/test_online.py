"""A search over HTTP waits for the sources that the user allowed, if it is asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

QUERY = "the patience of kettles"


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_search_waits_for_the_sources_within_its_budget(
    serving: Any, env: dict[str, str], fake_sources: Any, tmp_path: Path, method: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["openreview"]\nbase_url = "{fake_sources.url}"\n', encoding="utf-8"
    )
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    given = {"query": QUERY, "online_seconds": 30}
    with serving(own) as (url, _):
        how = {"json": given} if method == "POST" else {"params": given}
        found = httpx2.request(method, f"{url}/v1/search", timeout=300, **how)
    assert found.status_code == 200, found.text
    titles = [paper["title"] for paper in found.json()["papers"]]
    assert any("Patience of Kettles" in title for title in titles), found.text


def test_nothing_is_sent_where_no_source_is_allowed(
    serving: Any, env: dict[str, str], fake_sources: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[sources]\nbase_url = "{fake_sources.url}"\n', encoding="utf-8")
    fake_sources.log.clear()
    with serving(env | {"CITEWELL_CONFIG": str(config)}) as (url, _):
        body = {"query": QUERY, "online_seconds": 30}
        found = httpx2.post(f"{url}/v1/search", json=body, timeout=300).json()
    assert "sources-off" in [one["code"] for one in found["problems"]]
    assert fake_sources.log == []
