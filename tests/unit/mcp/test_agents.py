"""What agents get beside the tools' first answers: several entries at once, sentences, bounds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.mcp.papers import tokens_of

Agent = Callable[..., Any]
PAPER = """\\documentclass{article}\\begin{document}
We use \\cite<attention is all you need>. We optimise with \\cite<adam stochastic optimization>.
Teacups \\cite{?}. And \\cite<long short-term memory>.
\\bibliography{refs}\\end{document}
"""


async def test_several_entries_are_added_in_one_edit(agent: Agent, tmp_path: Path) -> None:
    bib = tmp_path / "refs.bib"
    bib.write_text("% mine\n\n@misc{devlin2019bert, title={Something Else}, year={2019}}\n")
    arguments = {"ids": ["fx:1", "10.18653/v1/N19-1423", "1710.10903", "fx:1"], "bib": "refs.bib"}
    async with agent(tmp_path, allow_write=True) as client:
        shown = (await client.call_tool("add_entries", arguments)).structured_content
        assert not shown["written"] and shown["diff"].count("+@inproceedings{") == 3
        assert bib.read_text().count("@") == 1
        done = (
            await client.call_tool("add_entries", {**arguments, "write": True})
        ).structured_content
        again = (
            await client.call_tool("add_entries", {**arguments, "write": True})
        ).structured_content
    assert done["written"] and [one["id"] for one in done["entries"]] == [
        "fx:1",
        "fx:4",
        "fx:5",
        "fx:1",
    ]
    keys = [one["key"] for one in done["entries"]]
    assert keys[0] == keys[3] and len(set(keys)) == 3
    assert "devlin2019bert" not in keys, "that key is another work's"
    text = bib.read_text()
    assert text.startswith("% mine\n\n@misc{devlin2019bert,") and text.count("@inproceedings{") == 3
    assert not again["written"] and all(one["already_there"] for one in again["entries"])
    assert [one["key"] for one in again["entries"]] == keys


async def test_with_an_unknown_id_no_entry_is_added_and_near_titles_are_named(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "refs.bib").write_text("")
    arguments = {"ids": ["fx:1", "velickovic2018graph_attention"], "bib": "refs.bib", "write": True}
    async with agent(tmp_path, allow_write=True) as client:
        refused = await client.call_tool("add_entries", arguments)
        new = await client.call_tool(
            "add_entries", {**arguments, "ids": ["fx:1"], "bib": "new.bib"}
        )
        none = await client.call_tool("add_entries", {**arguments, "bib": "refs.tex"})
    assert refused.is_error and "[record-unknown]" in refused.content[0].text
    assert "Nearest titles" in refused.content[0].text
    assert "fx:5 (Graph Attention Networks)" in refused.content[0].text
    assert (tmp_path / "refs.bib").read_text() == ""
    assert new.structured_content["written"] and (tmp_path / "new.bib").exists()
    assert none.is_error and "[mcp-no-bib]" in none.content[0].text


async def test_each_candidate_has_a_confidence_and_the_sentence_that_fits(agent: Agent) -> None:
    text = "Recurrence is not needed for sequence translation: attention is enough [CITATION]."
    async with agent() as client:
        found = (await client.call_tool("find_citations", {"text": text})).structured_content
        ids = (
            await client.call_tool("find_citations", {"text": text, "detail": "ids"})
        ).structured_content
        papers = found["places"][0]["papers"]
        whole = await client.call_tool("get_papers", {"ids": [paper["id"] for paper in papers]})
    abstracts = {one["id"]: one["abstract"] for one in whole.structured_content["papers"]}
    assert all(0.05 <= paper.get("confidence", 0.05) <= 0.99 for paper in papers)
    assert found["places"][0]["certainty"] in ("sure", "likely", "a guess")
    sentences = {paper["id"]: paper.get("abstract_sentence", "") for paper in papers}
    assert "attention" in sentences["fx:1"]
    for name, sentence in sentences.items():
        assert sentence in abstracts[name], "the abstract's own words"
    assert not any("abstract_sentence" in paper for paper in ids["places"][0]["papers"])
    assert [paper.get("confidence") for paper in ids["places"][0]["papers"]] == [
        paper.get("confidence") for paper in papers
    ]


async def test_a_fill_comes_without_its_diff_and_within_its_bound(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "main.tex").write_text(PAPER)
    (tmp_path / "refs.bib").write_text("")
    async with agent(tmp_path) as client:

        async def fill(**arguments: Any) -> dict[str, Any]:
            found = await client.call_tool("fill_document", {"path": "main.tex", **arguments})
            assert not found.is_error, found.content
            return found.structured_content

        whole = await fill()
        without = await fill(diff=False)
        narrow = await fill(max_tokens=tokens_of(without) + 20)
        least = await fill(max_tokens=80)
    assert whole["diff"] and "notes" not in whole
    assert without["diff"] == "" and without["placeholders"] == whole["placeholders"]
    assert narrow["diff"] == "" and "The diff is omitted because of max_tokens" in narrow["notes"]
    assert 1 <= len(least["placeholders"]) < len(whole["placeholders"])
    assert f"to {len(whole['placeholders'])} are omitted because of max_tokens" in least["notes"]
    assert len(json.dumps(least)) < len(json.dumps(whole)) / 2


@pytest.mark.parametrize(
    "name",
    ["10.18653/v1/N19-1423", "10.18653%2Fv1%2FN19-1423", "fx:4", "N19-1423",
     "https://aclanthology.org/N19-1423"],
)  # fmt: skip
async def test_a_paper_is_a_resource_under_each_of_its_names(agent: Agent, name: str) -> None:
    async with agent() as client:
        found = await client.read_resource(f"paper://{name}")
    assert json.loads(found.contents[0].text)["id"] == "fx:4"
