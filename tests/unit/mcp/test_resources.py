"""What an agent may read, the prompts, and what is completed."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from citewell.engine.local import LocalEngine
from citewell.mcp.server import create_server
from citewell.options import Options

Agent = Callable[..., Any]
ENTRY = "@book{roe2001, title={A Book},\n  author={Roe, Jo}, year={2001}}"


async def test_entries_files_papers_and_the_last_report_can_be_read(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "refs.bib").write_text(f"% mine\n{ENTRY}\n")
    async with agent(tmp_path) as client:

        async def read(uri: str) -> str:
            return (await client.read_resource(uri)).contents[0].text

        assert await read("bib://roe2001") == ENTRY
        assert await read("bib-file://refs.bib") == f"% mine\n{ENTRY}\n"
        assert json.loads(await read("paper://fx%3A5"))["title"] == "Graph Attention Networks"
        for missing in ("report://last", "bib://none", "paper://none", "bib-file://../x.bib"):
            with pytest.raises(Exception):  # noqa: B017
                await read(missing)
        found = await client.call_tool("check_references", {"path": "refs.bib"})
        assert json.loads(await read("report://last"))["checks"][0]["claim"]["key"] == "roe2001"
        assert await read(found.structured_content["report"]) == await read("report://last")


async def test_an_agent_learns_which_library_it_searches_and_what_that_covers(
    agent: Agent, tmp_path: Path
) -> None:
    """As a resource, and for a model that reads none as the answer to an empty search."""
    async with agent(tmp_path) as client:
        (content,) = (await client.read_resource("library://coverage")).contents
        listed = await client.list_resources()
        page = (await client.call_tool("search_papers", {"query": " "})).structured_content
        assert "search_papers without arguments" in client.instructions
    assert "library://coverage" in [str(one.uri) for one in listed.resources]
    assert page["status"] == "nothing_asked" and page["papers"] == []
    assert "Give at least one of query" in page["notes"]
    (library,) = page["libraries"]
    assert library["name"] == "default" and library["first"] < 2000 < library["last"]
    assert date.fromisoformat(library["created"]) <= datetime.now(UTC).date()
    found = json.loads(content.text)
    (covered,) = found["covers"]
    assert covered["created"] == library["created"] and covered["works"] == library["works"]
    assert covered["works"] == found["works"] > 20
    assert covered["first"] == min(map(int, covered["years"])) and covered["years"]["2017"] > 0
    assert str(tmp_path.parent) not in content.text


async def test_clients_that_share_a_server_read_their_own_reports_alone(
    paper_options: Options, paper_engine: LocalEngine
) -> None:
    """A report is named by what only its own client was told."""
    server = create_server(paper_options, paper_engine, shared=True)
    async with Client(server) as one, Client(server) as other:
        names = []
        for client, key in ((one, "one"), (other, "other")):
            text = ENTRY.replace("roe2001", key)
            found = await client.call_tool("check_references", {"text": text})
            names.append(found.structured_content["report"])
        for client, name, key in ((one, names[0], "one"), (other, names[1], "other")):
            report = json.loads((await client.read_resource(name)).contents[0].text)
            assert [check["claim"]["key"] for check in report["checks"]] == [key]
            with pytest.raises(Exception, match="No such report"):
                await client.read_resource("report://last")
    # The same request to another server has another name: nobody can work it out.
    async with Client(create_server(paper_options, paper_engine, shared=True)) as client:
        text = ENTRY.replace("roe2001", "one")
        found = await client.call_tool("check_references", {"text": text})
        assert found.structured_content["report"] != names[0]


async def test_every_prompt_is_described_and_names_its_tool(agent: Agent) -> None:
    async with agent() as client:
        prompts = (await client.list_prompts()).prompts
        assert {p.name for p in prompts} == {
            "cite_paragraph", "audit_bibliography", "related_work",
        }  # fmt: skip
        assert all(prompt.description for prompt in prompts)
        arguments = [one for prompt in prompts for one in prompt.arguments or ()]
        assert len(arguments) == 5 and all(one.description for one in arguments)
        only = await client.get_prompt("related_work", {"notes": "graphs", "venue": "ICLR"})
        assert 'search_papers with venue="ICLR"' in only.messages[0].content.text
        found = await client.get_prompt("audit_bibliography", {"path": "refs.bib"})
        assert 'check_references with path="refs.bib"' in found.messages[0].content.text


async def test_keys_and_venues_are_completed(agent: Agent, tmp_path: Path) -> None:
    from mcp_types import PromptReference, ResourceTemplateReference

    (tmp_path / "refs.bib").write_text(ENTRY)
    async with agent(tmp_path) as client:
        found = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri="bib://{key}"),
            {"name": "key", "value": "RO"},
        )
        venues = await client.complete(
            PromptReference(type="ref/prompt", name="related_work"),
            {"name": "venue", "value": "neurips"},
        )
    assert found.completion.values == ["roe2001"]
    assert venues.completion.values == ["NeurIPS"]
