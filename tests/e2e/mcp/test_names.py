"""Names, years and identifiers as an agent gives them to a real server, on both transports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


async def test_names_and_identifiers_mean_the_same_on_both_transports(
    env: dict[str, str], client: Any, serving: Any, over_http: Any
) -> None:
    async def ask(session: Any) -> None:
        async def found(**arguments: Any) -> list[str]:
            page = await session.call_tool("search_papers", arguments)
            assert not page.is_error, page.content
            return [paper["id"] for paper in page.structured_content["papers"]]

        assert await found(query="10.18653/v1/N19-1423") == ["fx:4"]
        assert await found(query="https://arxiv.org/abs/1710.10903v2") == ["fx:5"]
        assert await found(query="10.1000/attention") == []
        assert await found(query="graphs", author="Thomas Kipf") == ["fx:6"]
        assert await found(query="attention", venue="Neural Information Processing Systems",
                           year=2017, limit=5) == ["fx:1"]  # fmt: skip
        refused = await session.call_tool("search_papers", {"query": "a", "yeer": 2017})
        assert refused.is_error and "Did you mean `year`?" in refused.content[0].text
        empty = await session.call_tool("search_papers", {"query": "a", "author": "Jan Kipf"})
        assert "'Jan Kipf'" in empty.structured_content["notes"]

    async with client(env) as session:
        await ask(session)
    with serving(env) as (url, _):
        async with over_http(url) as session:
            await ask(session)


async def test_several_entries_and_records_by_doi_on_both_transports(
    env: dict[str, str], tmp_path: Path, client: Any, serving: Any, over_http: Any
) -> None:
    async def ask(session: Any, bib: str) -> None:
        request_arguments = {"ids": ["10.18653/v1/N19-1423", "fx:5"], "bib": bib, "write": True}
        done = (await session.call_tool("add_entries", request_arguments)).structured_content
        assert done["written"]
        assert [one["key"] for one in done["entries"]] == ["devlin2019bert", "velickovic2018graph"]
        assert (tmp_path / bib).read_text().count("@inproceedings{") == 2
        for name in ("10.18653/v1/N19-1423", "10.18653%2Fv1%2FN19-1423"):
            record = await session.read_resource(f"paper://{name}")
            assert json.loads(record.contents[0].text)["id"] == "fx:4"

    arguments = ("--root", tmp_path, "--allow-write")
    async with client(env, *arguments) as session:
        await ask(session, "pipes.bib")
    with serving(env, *arguments) as (url, _):
        async with over_http(url) as session:
            await ask(session, "http.bib")
