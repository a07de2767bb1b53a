"""What an agent is told and gets, through the SDK's own client in memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.model import CitewellError
from citewell.options import Options
from citewell.usecases.find import from_cursor, to_cursor

Agent = Callable[..., Any]
GOOD = """@inproceedings{devlin-etal-2019-bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  year = {2019},
  doi = {10.18653/v1/n19-1423}
}
"""


@pytest.mark.parametrize("allow_write", [False, True])
async def test_the_list_of_tools_describes_all_and_costs_less_than_fourteen_kilobytes(
    agent: Agent, tmp_path: Path, allow_write: bool
) -> None:
    async with agent(tmp_path, allow_write=allow_write) as client:
        found = await client.list_tools()
    listed = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    size = len(json.dumps(listed, separators=(",", ":")).encode())
    print(f"tools/list: {len(found.tools)} tools, {size:,} bytes")
    assert len(found.tools) <= 10
    assert size < 14_000
    for tool in found.tools:
        assert tool.output_schema and tool.description and tool.annotations and tool.title, (
            tool.name
        )
        for name, parameter in tool.input_schema["properties"].items():
            assert parameter["description"].endswith("."), (tool.name, name)
            bounds = parameter.keys() & {
                "maximum",
                "maxLength",
                "maxItems",
                "maxProperties",
                "enum",
            }
            assert bounds or parameter["type"] == "boolean", (tool.name, name)


async def test_tools_that_write_say_so_only_where_they_may(agent: Agent, tmp_path: Path) -> None:
    async with agent(tmp_path) as client:
        hints = {t.name: t.annotations.read_only_hint for t in (await client.list_tools()).tools}
    assert all(hints.values())
    async with agent(tmp_path, allow_write=True) as client:
        hints = {t.name: t.annotations.read_only_hint for t in (await client.list_tools()).tools}
    writing = {name for name, only in hints.items() if not only}
    assert writing == {"fill_document", "add_entry", "add_entries", "check_references"}


async def test_a_paper_is_found_with_its_record(agent: Agent) -> None:
    async with agent() as client:
        found = await client.call_tool("search_papers", {"query": "graph attention", "k": 2})
    page = found.structured_content
    assert page["status"] == "found"
    assert page["papers"][0]["id"] == "fx:5"
    assert page["papers"][0]["authors"] == "Veličković et al."
    assert page["papers"][0]["venue"] == "ICLR"
    assert not {"source", "sources", "reason"} & page["papers"][0].keys()
    assert json.loads(found.content[0].text) == page


async def test_sources_and_reasons_come_on_demand_and_in_words(agent: Agent) -> None:
    async with agent() as client:
        found = await client.call_tool(
            "search_papers", {"query": "graph attention", "k": 1, "detail": "full"}
        )
        held = await client.call_tool("get_papers", {"ids": ["fx:5"]})
    (paper,) = found.structured_content["papers"]
    assert paper["reason"] and "#" not in paper["reason"] and "bm25" not in paper["reason"]
    assert paper["sources"] and not any(":" in name for name in paper["sources"])
    assert "Petar Veličković" in paper["authors"]
    assert held.structured_content["papers"][0]["sources"] == paper["sources"]


@pytest.mark.parametrize(
    ("client_name", "texts"), [("claude-code", 0), ("codex-mcp-client", 0), ("another-client", 2)]
)
async def test_a_client_whose_model_reads_structured_content_gets_it_once(
    paper_options: Options, paper_engine: LocalEngine, client_name: str, texts: int
) -> None:
    from mcp.client import Client
    from mcp_types import Implementation

    from citewell.mcp.server import create_server

    server = create_server(paper_options, paper_engine)
    named = Implementation(name=client_name, version="1")
    for mode in ("auto", "legacy"):
        async with Client(server, client_info=named, mode=mode) as client:
            found = await client.call_tool("get_papers", {"ids": ["fx:1"]})
            wrong = await client.call_tool("get_papers", {})
        assert found.structured_content["papers"][0]["id"] == "fx:1"
        assert len(found.content) == texts
        assert wrong.is_error and wrong.content[0].text


async def test_an_answer_links_the_records_and_the_report_that_it_names(agent: Agent) -> None:
    async with agent() as client:
        records = await client.call_tool("get_papers", {"ids": ["fx:1"]})
        checks = await client.call_tool("check_references", {"text": "@misc{a, title={Nothing}}"})
        for found in (records, checks):
            _, link = found.content
            assert link.type == "resource_link" and link.title
            assert (await client.read_resource(link.uri)).contents[0].text.startswith(("{", "["))


async def test_pages_do_not_repeat_and_miss_nothing(agent: Agent) -> None:
    async with agent() as client:
        arguments: dict[str, Any] = {"query": "neural networks", "detail": "ids"}
        whole = (await client.call_tool("search_papers", {**arguments, "k": 12})).structured_content
        ids: list[str] = []
        cursor = ""
        while len(ids) < 12:
            page = (
                await client.call_tool("search_papers", {**arguments, "k": 4, "cursor": cursor})
            ).structured_content
            ids += [paper["id"] for paper in page["papers"]]
            cursor = page["next_cursor"]
        assert ids == [paper["id"] for paper in whole["papers"]]
        foreign = await client.call_tool("search_papers", {"query": "else", "cursor": cursor})
    assert foreign.is_error
    assert "[cursor-foreign]" in foreign.content[0].text


async def test_a_token_budget_shortens_the_page_and_leaves_a_cursor(agent: Agent) -> None:
    async with agent() as client:
        found = await client.call_tool(
            "search_papers", {"query": "neural", "k": 10, "detail": "full", "max_tokens": 300}
        )
    page = found.structured_content
    assert 0 < len(page["papers"]) < 10
    assert len(json.dumps(page["papers"])) < 300 * 4 + 1200
    assert page["next_cursor"]


async def test_nothing_found_and_failed_are_two_answers(
    agent: Agent, tmp_path: Path, paper_options: Options
) -> None:
    (tmp_path / "p.md").write_text("See [@attention is all you need].\n")
    (tmp_path / "refs.bib").touch()

    from citewell.options.tree import LibraryOptions

    async with agent() as client:
        none = await client.call_tool("search_papers", {"query": "attention", "year_from": 2090})
    assert not none.is_error
    assert none.structured_content["status"] == "nothing_found"
    assert none.structured_content["papers"] == []
    missing = replace(paper_options, library=LibraryOptions(path=tmp_path))
    async with agent(tmp_path, engine=LocalEngine.open(missing)) as client:
        for name, arguments in (
            ("search_papers", {"query": "attention"}),
            ("find_citations", {"text": "We use attention [CITATION]."}),
            ("check_references", {"text": GOOD}),
            ("get_papers", {"ids": ["fx:1"]}),
            ("related_papers", {"id": "fx:1", "direction": "cites"}),
            ("fill_document", {"path": "p.md"}),
            ("add_entry", {"id": "fx:1", "bib": "refs.bib"}),
            ("add_entries", {"ids": ["fx:1"], "bib": "refs.bib"}),
            ("search_papers", {"query": "10.18653/v1/N19-1423"}),
            ("search_papers", {"author": "Kipf"}),
        ):
            failed = await client.call_tool(name, arguments)
            assert failed.is_error, name
            assert "library-missing" in failed.content[0].text
            assert "citewell library add" in failed.content[0].text


async def test_a_search_of_which_a_part_failed_does_not_say_that_there_is_nothing(
    agent: Agent, paper_options: Options
) -> None:

    retrieval = replace(paper_options.retrieval, encoders=("there-is-no-such-encoder",))
    broken = LocalEngine.open(replace(paper_options, retrieval=retrieval))
    async with agent(engine=broken) as client:
        for name, arguments in (
            ("search_papers", {"query": "qwertzuiop"}),
            ("find_citations", {"text": "Qwertzuiop [CITATION]."}),
        ):
            found = (await client.call_tool(name, arguments)).structured_content
            assert found["status"] == "not_checked", name
            assert "there-is-no-such-encoder" in found["notes"]
        held = (await client.call_tool("search_papers", {"query": "attention"})).structured_content
    assert held["status"] == "found" and held["papers"]
    broken.close()


async def test_records_come_in_each_form_and_unknown_ids_are_named(agent: Agent) -> None:
    async with agent() as client:
        for form, piece in (
            ("bibtex", "@inproceedings{"),
            ("csl", '"type":"paper-conference"'),
            ("reference", "Devlin, J."),
        ):
            found = await client.call_tool(
                "get_papers", {"ids": ["10.18653/v1/N19-1423", "fx:999"], "format": form}
            )
            page = found.structured_content
            assert page["papers"][0]["id"] == "fx:4"
            assert piece in page["papers"][0]["text"]
            assert page["unknown_ids"] == ["fx:999"]


async def test_checks_tell_real_wrong_and_unknown_apart(agent: Agent) -> None:
    wrong = GOOD.replace("devlin-etal-2019-bert", "wrong").replace("Devlin, Jacob", "Smith, Anna")
    unknown = "@article{unknown, title={A Paper That Nobody Ever Wrote on Teacups}, author={Roe, Jo}, year={2011}}"
    async with agent() as client:
        found = await client.call_tool(
            "check_references", {"text": GOOD + wrong + unknown, "verified_too": True}
        )
        report = found.structured_content
        verdicts = {one["key"]: one["verdict"] for one in report["references"]}
        assert verdicts["devlin-etal-2019-bert"] == "verified"
        assert verdicts["wrong"] in ("wrong-detail", "fabricated")
        assert verdicts["unknown"] == "not-found"
        assert report["counts"]["verified"] == 1
        elsewhere = GOOD.replace("  year", "  booktitle = {ICML},\n  year")
        venue = await client.call_tool("check_references", {"text": elsewhere})
        (reference,) = venue.structured_content["references"]
        assert reference["findings"][0]["message"].startswith("It appeared in NAACL, not in ICML.")
        # A line of plain text is a reference that somebody wrote by hand.
        line = await client.call_tool("check_references", {"text": "no reference is here"})
        assert line.structured_content["status"] == "checked"
        assert [one["verdict"] for one in line.structured_content["references"]] == ["not-found"]
        cut = await client.call_tool("check_references", {"text": unknown.rstrip("}") + "}\n"})
        assert "bib-unclosed" in cut.structured_content["notes"]
        nothing = await client.call_tool("check_references", {"text": "@string{acl = {ACL}}"})
        assert nothing.structured_content["status"] == "no_references"
        assert nothing.structured_content["references"] == []


async def test_a_check_reports_undefined_keys_and_duplicates_of_a_paper(
    agent: Agent, tmp_path: Path
) -> None:
    twin = GOOD.replace("{devlin-etal-2019-bert", "{twin")
    (tmp_path / "refs.bib").write_text(GOOD + twin)
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\n\\cite{twin,devlin-etal-2019-bert,nokey} \\cite{?}"
        "\n\\bibliography{refs}\\end{document}\n"
    )
    async with agent(tmp_path) as client:

        async def faults(**arguments: Any) -> list[tuple[str, str]]:
            found = await client.call_tool("check_references", arguments)
            assert not found.is_error, found.content
            faults = found.structured_content.get("faults", [])
            return [(one["place"], one["code"]) for one in faults]

        assert await faults(path="main.tex") == [
            ("main.tex:2", "undefined-key"),
            ("refs.bib:7", "duplicate-work"),
        ]
        assert await faults(path="refs.bib") == [("refs.bib:7", "duplicate-work")]
        assert await faults(text=GOOD + GOOD) == [("text:7", "bib-duplicate-key")]
        assert await faults(text="Devlin et al. BERT. 2019.") == []
        assert await faults(text=GOOD) == []


async def test_a_long_report_goes_on_with_its_cursor_alone(agent: Agent) -> None:
    text = "".join(
        f"@article{{k{n}, title={{Unheard of Thing Number {n} in Teacups}}, year={{2011}}}}\n"
        for n in range(150)
    )
    progress_reports: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        progress_reports.append(progress)

    async with agent() as client:
        found = await client.call_tool(
            "check_references", {"text": text, "max_tokens": 1000}, progress_callback=hear
        )
        keys = [one["key"] for one in found.structured_content["references"]]
        while cursor := found.structured_content.get("next_cursor"):
            found = await client.call_tool(
                "check_references", {"cursor": cursor, "max_tokens": 1000}
            )
            keys += [one["key"] for one in found.structured_content["references"]]
    assert sorted(keys) == sorted(f"k{n}" for n in range(150))
    assert progress_reports == sorted(progress_reports) and len(progress_reports) >= 3


async def test_an_entry_is_shown_first_and_written_once(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_bytes(b"% mine\r\n")
    async with agent(tmp_path, allow_write=True) as client:
        arguments: dict[str, Any] = {"id": "fx:5", "bib": "refs.bib"}
        shown = (await client.call_tool("add_entry", arguments)).structured_content
        assert not shown["written"] and "+@inproceedings{" in shown["diff"]
        assert (tmp_path / "refs.bib").read_bytes() == b"% mine\r\n"
        done = (
            await client.call_tool("add_entry", {**arguments, "write": True})
        ).structured_content
        text = (tmp_path / "refs.bib").read_bytes()
        assert done["written"] and done["key"] == shown["key"]
        assert text.startswith(b"% mine\r\n") and b"\r\n" in text[8:]
        again = (
            await client.call_tool("add_entry", {**arguments, "write": True})
        ).structured_content
    assert again["already_there"] and again["key"] == done["key"]
    assert (tmp_path / "refs.bib").read_bytes() == text


async def test_a_document_is_filled_as_the_agent_chose(agent: Agent, tmp_path: Path) -> None:
    paper = tmp_path / "main.tex"
    paper.write_text(
        "\\documentclass{article}\\begin{document}\n"
        "Attention \\cite<attention is all you need>. Teacups \\cite{?}.\n"
        "\\bibliography{refs}\\end{document}\n"
    )
    (tmp_path / "refs.bib").write_text("")
    async with agent(tmp_path, allow_write=True) as client:
        plan = (await client.call_tool("fill_document", {"path": "main.tex"})).structured_content
        assert [one["n"] for one in plan["placeholders"]] == [1, 2]
        assert plan["placeholders"][0]["paper"]["id"] == "fx:1"
        assert not plan["written"]
        wrong = await client.call_tool(
            "fill_document", {"path": "main.tex", "choices": {"7": "fx:1"}}
        )
        assert wrong.is_error and "placeholder-unknown" in wrong.content[0].text
        invented = await client.call_tool(
            "fill_document", {"path": "main.tex", "choices": {"2": "made-up:1"}}
        )
        assert invented.is_error and "record-unknown" in invented.content[0].text
        done = (
            await client.call_tool(
                "fill_document", {"path": "main.tex", "choices": {"2": "fx:7"}, "write": True}
            )
        ).structured_content
    assert done["written"]
    keys = [one["key"] for one in done["placeholders"]]
    assert f"Attention \\cite{{{keys[0]}}}. Teacups \\cite{{{keys[1]}}}." in paper.read_text()
    assert (tmp_path / "refs.bib").read_text().count("@inproceedings{") == 2


async def test_entries_are_marked_replaced_and_removed_with_their_citations(
    agent: Agent, tmp_path: Path
) -> None:
    fake = GOOD.replace("devlin-etal-2019-bert", "fake").replace(
        "Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina",
        "Roe, Jo and Poe, Al and Woe, Eve and Doe, Una",
    )
    (tmp_path / "refs.bib").write_text(GOOD + fake + fake.replace("{fake", "{second"))
    (tmp_path / "main.tex").write_text("See \\cite{fake,second}.\n\\bibliography{refs}\n")
    texts = [(tmp_path / name).read_text() for name in ("refs.bib", "main.tex")]
    arguments = {"path": "refs.bib", "changes": {"fake": "remove", "second": "mark"}}
    async with agent(tmp_path) as client:
        shown = (await client.call_tool("check_references", arguments)).structured_content
        refused = await client.call_tool("check_references", {**arguments, "write": True})
    assert "mcp-read-only" in refused.content[0].text
    assert texts == [(tmp_path / name).read_text() for name in ("refs.bib", "main.tex")]
    assert not shown["written"] and "+See \\cite{?,second}." in shown["diff"]
    assert [one["verdict"] for one in shown["references"]] == ["fabricated", "fabricated"]
    async with agent(tmp_path, allow_write=True) as client:
        done = (
            await client.call_tool("check_references", {**arguments, "write": True})
        ).structured_content
        assert done["written"] and done["diff"] == shown["diff"]
        assert (tmp_path / "main.tex").read_text().startswith("See \\cite{?,second}.")
        checked = (
            await client.call_tool("check_references", {"path": "refs.bib"})
        ).structured_content
        (second,) = checked["references"]
        assert second["key"] == "second" and second["marked"][:2] == "20"
        replaced = {"path": "main.tex", "changes": {"second": "record"}, "write": True}
        assert not (await client.call_tool("check_references", replaced)).is_error
        wrong = {"path": "refs.bib", "changes": {"secnd": "mark"}}
        assert "'second'" in (await client.call_tool("check_references", wrong)).content[0].text
        of_text = {"text": fake, "changes": {"fake": "mark"}}
        refused = await client.call_tool("check_references", of_text)
        assert "changes are made in a file" in refused.content[0].text
    assert (tmp_path / "refs.bib").read_text().count("Devlin, Jacob") == 2


async def test_an_agent_that_cannot_look_is_told_what_files_there_are(
    agent: Agent, tmp_path: Path
) -> None:
    """And one that sees the folder from above may name it, too."""
    root = tmp_path / "paper"
    (root / "parts").mkdir(parents=True)
    for name in ("main.tex", "refs.bib", "parts/intro.tex", "notes.txt"):
        (root / name).write_text("")
    async with agent(root, allow_write=True) as client:
        found = await client.call_tool("fill_document", {"path": "paper.tex"})
        assert "relative to a root: main.tex, refs.bib, parts/intro.tex." in found.content[0].text
        above = await client.call_tool("check_references", {"path": "paper/refs.bib"})
        assert above.structured_content["status"] == "no_references"
        for name in ("paper/new.bib", "other.bib"):
            arguments = {"id": "fx:1", "bib": name, "write": True}
            assert not (await client.call_tool("add_entry", arguments)).is_error
    assert (root / "new.bib").exists() and (root / "other.bib").exists()


async def test_a_broken_cursor_is_told_by_every_tool(agent: Agent) -> None:
    async with agent() as client:
        for name, arguments in (
            ("search_papers", {"query": "attention"}),
            ("check_references", {"text": GOOD}),
            ("check_references", {}),
            ("related_papers", {"id": "fx:1", "direction": "cites"}),
        ):
            found = await client.call_tool(name, {**arguments, "cursor": "made-up"})
            assert found.is_error and "[cursor-foreign]" in found.content[0].text, name


def test_a_cursor_that_was_made_up_is_refused() -> None:
    assert from_cursor(to_cursor("abc", 7), "abc") == ("abc", 7)
    for cursor in ("", "!!", "AAAA", to_cursor("abc", -1), "ü"):
        with pytest.raises(CitewellError):
            from_cursor(cursor, "abc")


async def test_the_list_with_allowed_sources_costs_no_more(agent: Agent, tmp_path: Path) -> None:
    options = replace(Options(), sources=replace(Options().sources, allow=("openalex",)))
    async with agent(tmp_path, allow_write=True, options=options) as client:
        found = await client.list_tools()
    listed = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert "fetch_papers" in [tool.name for tool in found.tools]
    assert len(json.dumps(listed, separators=(",", ":")).encode()) < 14_000
