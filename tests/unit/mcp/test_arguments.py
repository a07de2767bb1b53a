"""What a tool is asked, by which names, and which filter emptied an answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Agent = Callable[..., Any]


async def search(client: Any, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool("search_papers", arguments)
    assert not found.is_error, found.content
    return found.structured_content


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("search_papers", {"query": "attention", "yeer": 2017}, "Did you mean `year`?"),
        ("search_papers", {"query": "attention", "max_results": 3}, "Did you mean `k`?"),
        ("search_papers", {"query": "attention", "zzz": 3}, "Its arguments: query, k, sort"),
        ("search_papers", {"topic": "attention"}, "Did you mean `query`?"),
        ("check_references", {"bibtex": "@misc{a}"}, "Did you mean `text`?"),
        ("find_citations", {"passage": "A [CITATION]."}, "Did you mean `text`?"),
        ("find_citations", {"text": "A [CITATION].", "max_token": 9}, "Did you mean `max_tokens`?"),
        ("get_papers", {"ids": ["fx:1"], "style_name": "ieee"}, "Did you mean `style`?"),
        ("related_papers", {"id": "fx:1", "directions": "cites"}, "Did you mean `direction`?"),
        ("check_references", {"text": "x", "on_line": True}, "Did you mean `online`?"),
        ("fill_document", {"path": "a.tex", "writes": True}, "Did you mean `write`?"),
        ("add_entry", {"id": "fx:1", "bib_path": "a.bib"}, "Did you mean `bib`?"),
    ],
)
async def test_an_unknown_argument_is_refused_with_the_one_that_was_meant(
    agent: Agent, tool: str, given: dict[str, Any], message: str
) -> None:
    async with agent() as client:
        found = await client.call_tool(tool, given)
    assert found.is_error
    assert "[argument-unknown]" in found.content[0].text
    assert message in found.content[0].text


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("search_papers", {"query": "a", "k": 0}, "`k` is 0; it takes an integer from 1 to 50"),
        ("search_papers", {"query": "a", "year": True}, "`year` is true; it takes an integer"),
        ("search_papers", {"query": "a", "year": "abc"}, '`year` is "abc"; it takes an integer'),
        ("search_papers", {"query": "a", "year": 10**20}, "it takes an integer from 0 to 9999"),
        ("search_papers", {"query": "a", "year_from": -(10**20)}, "`year_from` is -1000"),
        ("search_papers", {"query": ["a"]}, '`query` is ["a"]; it takes a text of at most 2,000'),
        ("search_papers", {"query": "a" * 2001}, "`query` has 2,001 characters; it takes a text"),
        ("find_citations", {"text": None}, "`text` is null; it takes a text of 1 to 20,000"),
        ("find_citations", {}, "`text` is missing; it takes a text of 1 to 20,000 characters"),
        ("get_papers", {"ids": ["fx:1"], "format": "xml"}, "it takes one of record, bibtex, csl"),
        ("get_papers", {"ids": [1]}, "`ids` is [1]; it takes a list of 1 to 50 texts"),
    ],
)
async def test_a_wrong_value_is_refused_with_the_reason(
    agent: Agent, tool: str, given: dict[str, Any], message: str
) -> None:
    async with agent() as client:
        found = await client.call_tool(tool, given)
    assert found.is_error
    assert "[argument-invalid]" in found.content[0].text
    assert message in found.content[0].text
    assert "pydantic" not in found.content[0].text


@pytest.mark.parametrize(
    ("tool", "given", "code", "name", "following"),
    [
        ("search_papers", {"query": "a", "k": 51}, "argument-invalid", "k",
         ("search_papers", {"query": "a", "k": 50})),
        ("search_papers", {"query": "a", "max_tokens": -5}, "argument-invalid", "max_tokens",
         ("search_papers", {"query": "a", "max_tokens": 4000})),
        ("search_papers", {"q": "a"}, "argument-unknown", "query",
         ("search_papers", {"query": "a"})),
        ("search_papers", {"query": "a", "top_k": 3}, "argument-unknown", "k",
         ("search_papers", {"query": "a", "k": 3})),
        ("search_papers", {"query": "a", "cursor": "x"}, "cursor-foreign", "cursor",
         ("search_papers", {"query": "a"})),
        ("find_citations", {"text": "A.", "path": "b.tex"}, "file-missing", "path",
         ("find_citations", {"text": "A.", "path": "main.tex"})),
        ("get_papers", {"ids": "fx:1"}, "argument-invalid", "ids",
         ("get_papers", {"ids": ["fx:1"]})),
        ("related_papers", {"id": "fx:1"}, "argument-invalid", "direction",
         ("related_papers", {"id": "fx:1", "direction": "cites"})),
        ("related_papers", {"id": "fx:999", "direction": "cites"}, "record-unknown", "id",
         ("search_papers", {"query": "words of its title"})),
        ("check_references", {}, "argument-invalid", "path",
         ("check_references", {"path": "refs.bib"})),
        ("check_references", {"path": "refs.bib", "changes": {"b": "mark"}}, "change-impossible",
         "changes", ("check_references", {"path": "refs.bib"})),
        ("fill_document", {"path": "refs.bib"}, "mcp-no-paper", "path",
         ("fill_document", {"path": "main.tex"})),
        ("fill_document", {"path": "main.tex", "choices": {"9": "fx:1"}}, "placeholder-unknown",
         "choices", ("fill_document", {"path": "main.tex"})),
        ("add_entry", {"id": "fx:1", "bib": "refs.bib", "write": True}, "mcp-read-only", "write",
         ("add_entry", {"id": "fx:1", "bib": "refs.bib"})),
        ("add_entry", {"id": "fx:1", "bib": "refs.tex"}, "mcp-no-bib", "bib",
         ("add_entry", {"id": "fx:1", "bib": "refs.bib"})),
        ("explore_papers", {}, "explore-empty", "query",
         ("explore_papers", {"query": "graph attention networks"})),
    ],
)  # fmt: skip
async def test_an_error_names_the_argument_and_a_call_that_goes_well(
    agent: Agent, tmp_path: Path, tool: str, given: dict[str, Any], code: str, name: str,
    following: tuple[str, dict[str, Any]],
) -> None:  # fmt: skip
    (tmp_path / "main.tex").write_text("\\begin{document}See \\cite{?}.\n")
    (tmp_path / "refs.bib").write_text("@article{a, title={x}}\n")
    async with agent(tmp_path) as client:
        found = await client.call_tool(tool, given)
        text = found.content[0].text
        assert found.is_error and text.startswith(f"[{code}]") and f"`{name}`" in text
        called, _, arguments = text.rpartition("Next: ")[2].partition(" ")
        assert (called, json.loads(arguments)) == following
        assert not (await client.call_tool(called, json.loads(arguments))).is_error


async def test_long_values_of_a_wrong_call_do_not_come_back(agent: Agent) -> None:
    async with agent() as client:
        found = await client.call_tool("check_references", {"text": "x" * 5000, "max_tokens": 0})
    assert "Next: check_references" in found.content[0].text
    assert len(found.content[0].text) < 300


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [
        ("search_papers", {"query": "a" * 2_001}),
        ("search_papers", {"query": "a", "author": "a" * 301}),
        ("find_citations", {"text": "a" * 20_001}),
        ("get_papers", {"ids": ["fx:1"] * 51}),
        ("get_papers", {"ids": ["a" * 301]}),
        ("explore_papers", {"query": "a", "kept": [""]}),
        ("related_papers", {"id": "a" * 301, "direction": "cites"}),
        ("check_references", {"text": "a" * 1_000_001}),
        ("fill_document", {"path": "p.md", "threshold": 2}),
    ],
)
async def test_bounds_are_those_of_the_operation(
    agent: Agent, tool: str, wrong: dict[str, Any]
) -> None:
    async with agent() as client:
        found = await client.call_tool(tool, wrong)
    assert found.is_error and "[argument-invalid]" in found.content[0].text


async def test_year_and_limit_are_taken(agent: Agent) -> None:
    async with agent() as client:
        found = await search(client, query="neural networks attention", year=2017, limit=2)
        whole = await search(client, query="neural networks attention", limit=50)
        twice = await client.call_tool("search_papers", {"query": "a", "k": 1, "limit": 2})
        both = await client.call_tool("search_papers", {"query": "a", "year": 1, "year_to": 2})
    assert [paper["year"] for paper in found["papers"]] == [2017, 2017]
    assert found["next_cursor"]
    assert {paper["year"] for paper in whole["papers"]} > {2017}
    assert twice.is_error and "[argument-twice]" in twice.content[0].text
    assert both.is_error and "[request-invalid] `year` is given together" in both.content[0].text


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"author": "Jan Kipf"}, "no paper by 'Jan Kipf'"),
        ({"venue": "Teacups"}, "no paper of the venue 'Teacups'"),
        ({"year": 2090}, "no paper of 2090"),
        ({"author": "Kipf", "venue": "ACL"}, "1 by 'Kipf', 2 of the venue 'ACL'"),
    ],
)
async def test_the_filter_that_leaves_nothing_is_named(
    agent: Agent, filters: dict[str, Any], message: str
) -> None:
    async with agent() as client:
        found = await search(client, query="attention", **filters)
    assert found["status"] == "nothing_found" and found["papers"] == []
    assert "[filter-empty]" in found["notes"]
    assert message in found["notes"]


async def test_the_papers_for_a_passage_pass_its_filters(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "main.tex").write_text("\\begin{document}See \\cite{gat}.\\bibliography{refs}\n")
    (tmp_path / "refs.bib").write_text("@misc{gat, title={Graph Attention Networks}}\n")
    text = "Graph attention networks [CITATION] weigh neighbours; see \\cite<attention>."
    async with agent(tmp_path) as client:

        async def places(**filters: Any) -> list[list[dict[str, Any]]]:
            arguments = {"text": text, "path": "main.tex", "k": 50, **filters}
            found = await client.call_tool("find_citations", arguments)
            assert not found.is_error, found.content
            return [one["papers"] for one in found.structured_content["places"]]

        whole = await places()
        for filters, met in (
            ({"year_from": 2015, "year_to": 2017}, lambda paper: 2015 <= paper["year"] <= 2017),
            ({"year_from": 2017, "year_to": 2015}, lambda paper: 2015 <= paper["year"] <= 2017),
            ({"year": 2018}, lambda paper: paper["year"] == 2018),
            ({"venue": "ICLR"}, lambda paper: paper["venue"] == "ICLR"),
        ):
            for unfiltered, papers in zip(whole, await places(**filters), strict=True):
                assert papers and all(map(met, papers)), filters
                assert not all(map(met, unfiltered)), filters
        none = await client.call_tool("find_citations", {"text": text, "year": 2090})
        both = {"text": text, "year": 2017, "year_from": 2017}
        refused = await client.call_tool("find_citations", both)
    assert none.structured_content["status"] == "nothing_found"
    assert "no paper of 2090" in none.structured_content["notes"]
    assert refused.is_error and "`year` is given together" in refused.content[0].text
    assert refused.content[0].text.endswith('"year_from": 2017}')


@pytest.mark.parametrize("text", ["\\cite{?}", "[CITATION]", "((( [CITATION]."])
async def test_a_place_without_words_gets_no_paper_and_says_so(agent: Agent, text: str) -> None:
    async with agent() as client:
        found = await client.call_tool("find_citations", {"text": text})
        searched = await search(client, query="(((")
    for page in (found.structured_content, searched):
        assert page["status"] == "nothing_found" and "[query-wordless]" in page["notes"]


@pytest.mark.parametrize(
    "name",
    ["10.18653/v1/N19-1423", "doi:10.18653/v1/n19-1423", "https://doi.org/10.18653/v1/N19-1423",
     "N19-1423", "https://aclanthology.org/N19-1423.pdf"],
)  # fmt: skip
async def test_an_identifier_names_one_paper(agent: Agent, name: str) -> None:
    async with agent() as client:
        assert [p["id"] for p in (await search(client, query=name))["papers"]] == ["fx:4"]
        got = (await client.call_tool("get_papers", {"ids": [name]})).structured_content
        assert [paper["id"] for paper in got["papers"]] == ["fx:4"]
        for text in (name, f"We follow \\cite<{name}>.", f"We follow [@?{name}]."):
            places = await client.call_tool("find_citations", {"text": text})
            (place,) = places.structured_content["places"]
            assert [paper["id"] for paper in place["papers"]] == ["fx:4"], text
            assert place["pick"] == "fx:4", text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("10.1000/attention", "the DOI 10.1000/attention"),
        ("arXiv:2001.00001", "the arXiv id 2001.00001"),
        ("2020.acl-main.99999", "the Anthology id 2020.acl-main.99999"),
        ("https://openreview.net/forum?id=attention", "the OpenReview forum attention"),
        ("https://example.org/attention", "the address https://example.org/attention"),
    ],
)
async def test_an_identifier_that_the_library_lacks_finds_nothing_and_says_so(
    agent: Agent, name: str, message: str
) -> None:
    async with agent() as client:
        found = await search(client, query=name)
    assert found["status"] == "nothing_found" and found["papers"] == []
    assert "[identifier-unknown]" in found["notes"] and message in found["notes"]


async def test_kind_and_language_are_filters(agent: Agent) -> None:
    async with agent() as client:
        found = await search(client, query="neural networks", kind="article", k=50)
        listed = await search(client, kind="article", language="de", k=50)
        none = await search(client, query="neural networks", kind="sonnet")
    assert {paper["id"] for paper in found["papers"]} == {"fx:8", "fx:10", "mx:3"}
    # No record of the library states a language.
    assert {paper["id"] for paper in listed["papers"]} == {"fx:8", "fx:10", "mx:3"}
    assert none["status"] == "nothing_found" and "'sonnet'" in none["notes"]


@pytest.mark.parametrize("given", [{"query": "neural networks"}, {"author": "Hinton"}])
async def test_papers_come_by_year_and_page_by_page(agent: Agent, given: dict[str, Any]) -> None:
    async with agent() as client:
        for sort, down in (("newest", True), ("oldest", False)):
            whole = await search(client, **given, sort=sort, k=50)
            years = [paper["year"] for paper in whole["papers"]]
            assert years == sorted(years, reverse=down)
            first = await search(client, **given, sort=sort, k=1)
            assert first["papers"] == whole["papers"][:1]
            if cursor := first.get("next_cursor"):
                second = await search(client, **given, sort=sort, k=1, cursor=cursor)
                assert second["papers"] == whole["papers"][1:2]
                foreign = await client.call_tool("search_papers", {**given, "cursor": cursor})
                assert foreign.is_error and "[cursor-foreign]" in foreign.content[0].text
        wrong = await client.call_tool("search_papers", {**given, "sort": "date"})
    assert "one of relevance, newest, oldest" in wrong.content[0].text
