"""A search over HTTP waits for the sources that the user allowed, if it is asked to."""

from __future__ import annotations

import json
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


def test_a_source_that_hangs_costs_a_literature_search_only_its_own_part(
    serving: Any, env: dict[str, str], fake_sources: Any, fakes: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[sources]\nallow = ["openreview", "semantic-scholar"]\n'
        f'base_url = "{fake_sources.url}"\nkeep = false\n',
        encoding="utf-8",
    )
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    fake_sources.fail("semantic-scholar", fakes.Fault(kind="hang"))
    accept = {"Accept": "application/jsonl"}
    try:
        with serving(own) as (url, _):
            found = httpx2.post(
                f"{url}/v1/explore", json={"query": QUERY}, headers=accept, timeout=300
            )
    finally:
        fake_sources.faults.clear()
    assert found.status_code == 200, found.text
    lines = [json.loads(line) for line in found.text.splitlines()]
    passes = [line["passes"][-1]["name"] for line in lines]
    assert passes[:4] == ["search", "references", "papers", "citations"]
    assert "sources" in passes
    before, last = lines[passes.index("sources") - 1], lines[-1]
    listed = {paper["id"] for paper in last["papers"]}
    # Neither the library's papers nor those of the other source are missing.
    assert before["papers"] and {paper["id"] for paper in before["papers"]} <= listed
    assert any("Patience of Kettles" in paper["title"] for paper in last["papers"])
    assert {one["code"] for one in last["problems"]} == {"source-unanswered"}
    assert all("Semantic Scholar" in one["message"] for one in last["problems"])


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
