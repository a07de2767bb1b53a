"""Going along citations: what is known, what is known to be none, and what is not known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LibraryOptions

Agent = Callable[..., Any]
TITLES = {
    "a": "A Survey of Teapots and Their Lids",
    "b": "Porcelain Networks for Pouring",
    "c": "Handles That Generalise to Cups",
    "d": "Steeping as Stochastic Optimisation",
    "e": "An Experimental Study of Spouts",
    "f": "Nobody Has Written About Saucers",
    "g": "Sugar Tongs in Foreign Literature",
    "h": "Tea",
}
ELSEWHERE = ("Kettles of the Nineteenth Century", "On Boiling Water Twice", "Leaves and Their Ends")
CITED = {
    "a": [*(TITLES[name] for name in "bcd"), ELSEWHERE[0]],
    "e": [TITLES[name] for name in "bcd"],
    "g": list(ELSEWHERE),
    "h": [TITLES[name] for name in "bcd"],
}


@pytest.fixture(scope="module")
def teapots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """A library of records that tell what they cite, in the form of Semantic Scholar."""
    folder = tmp_path_factory.mktemp("teapots")
    lines = [
        json.dumps(
            {
                "paperId": name,
                "title": title,
                "year": 2010 + ord(name) % 10,
                "authors": [{"name": "Jo Roe"}],
                "references": [
                    {"paperId": f"x{n}", "title": cited}
                    for n, cited in enumerate(CITED.get(name, ()))
                ],
            }
        )
        for name, title in TITLES.items()
    ]
    (folder / "papers.jsonl").write_text("\n".join(lines))
    env = {k: v for k, v in os.environ.items() if "CITEWELL" not in k}
    env |= {"CITEWELL_LIBRARY_PATH": str(folder / "libraries"), "OMP_NUM_THREADS": "1"}
    add = [sys.executable, "-m", "citewell", "library", "add", str(folder / "papers.jsonl")]
    subprocess.run(add, env=env, check=True, capture_output=True)
    options = replace(Options(), library=LibraryOptions(path=folder / "libraries"))
    engine = LocalEngine.open(options)
    yield engine
    engine.close()


async def ask(agent: Agent, engine: LocalEngine, **arguments: Any) -> Any:
    async with agent(engine=engine) as client:
        found = await client.call_tool("related_papers", arguments)
    assert not found.is_error, found.content
    return found.structured_content


@pytest.mark.parametrize(
    ("name", "direction", "status", "ids"),
    [
        ("a", "cites", "found", {"b", "c", "d"}),
        ("b", "cited_by", "found", {"a", "e", "h"}),
        ("b", "cocited", "found", {"c", "d"}),
        ("g", "cites", "nothing_found", set()),
        ("f", "cites", "not_known", set()),
        ("f", "cited_by", "not_known", set()),
        ("f", "cocited", "not_known", set()),
        ("h", "cites", "not_known", set()),  # its title could be that of any paper
    ],
)
async def test_found_none_and_not_known_are_three_answers(
    agent: Agent, teapots: LocalEngine, name: str, direction: str, status: str, ids: set[str]
) -> None:
    page = await ask(agent, teapots, id=f"s2:{name}", direction=direction)
    assert page["status"] == status
    assert {paper["id"] for paper in page["papers"]} == {f"s2:{one}" for one in ids}
    assert not any("source" in paper for paper in page["papers"]), "only on demand"
    if status == "not_known":
        assert "notes" not in page


async def test_what_the_library_does_not_hold_is_counted(
    agent: Agent, teapots: LocalEngine
) -> None:
    page = await ask(agent, teapots, id="s2:a", direction="cites")
    assert "3 known papers are in the library, 1 are not" in page["notes"]
    none = await ask(agent, teapots, id="s2:g", direction="cites")
    assert "0 known papers are in the library, 3 are not" in none["notes"]


async def test_pages_hold_each_paper_once(agent: Agent, teapots: LocalEngine) -> None:
    ids: list[str] = []
    arguments: dict[str, Any] = {"id": "s2:b", "direction": "cited_by", "k": 1}
    cursor = ""
    while True:
        page = await ask(agent, teapots, **arguments, cursor=cursor)
        ids += [paper["id"] for paper in page["papers"]]
        if (cursor := page.get("next_cursor", "")) == "":
            break
    assert sorted(ids) == ["s2:a", "s2:e", "s2:h"]


async def test_a_cursor_of_another_direction_and_an_unknown_id_are_refused(
    agent: Agent, teapots: LocalEngine
) -> None:
    page = await ask(agent, teapots, id="s2:b", direction="cited_by", k=1)
    async with agent(engine=teapots) as client:
        for arguments, code in (
            ({"id": "s2:b", "direction": "cites", "cursor": page["next_cursor"]}, "cursor-foreign"),
            ({"id": "s2:none", "direction": "cites"}, "record-unknown"),
        ):
            found = await client.call_tool("related_papers", arguments)
            assert found.is_error and f"[{code}]" in found.content[0].text


@pytest.mark.parametrize("direction", ["cites", "cited_by", "cocited"])
async def test_the_tool_lists_what_the_command_and_the_endpoint_list(
    agent: Agent, teapots: LocalEngine, direction: str
) -> None:
    from citewell.usecases.find import related_works

    (work,) = teapots.works(["s2:b"])
    assert work is not None
    wanted = related_works(teapots, [work], 50, directions=(direction,))  # type: ignore[arg-type]
    page = await ask(agent, teapots, id="s2:b", direction=direction, k=50)
    assert [paper["id"] for paper in page["papers"]] == [one.work.id for one in wanted.papers]
    second = related_works(teapots, [work], 1, offset=1, directions=(direction,))  # type: ignore[arg-type]
    assert second.papers == wanted.papers[1:2]
    assert second.total == wanted.total


async def test_years_leave_out_other_papers(agent: Agent, teapots: LocalEngine) -> None:
    """The years of b, c and d are 2018, 2019 and 2010."""
    for years, ids in (
        ({"year_from": 2018}, {"b", "c"}),
        ({"year_to": 2018}, {"b", "d"}),
        ({"year_from": 2018, "year_to": 2010}, {"b", "d"}),
        ({"year_from": 2030}, set()),
    ):
        page = await ask(agent, teapots, id="s2:a", direction="cites", **years)
        assert {paper["id"] for paper in page["papers"]} == {f"s2:{one}" for one in ids}
        assert page["status"] == ("found" if ids else "nothing_found")
        assert page["notes"].startswith(f"{len(ids)} known papers of these years")


async def test_a_page_of_some_years_goes_on_and_belongs_to_them(
    agent: Agent, teapots: LocalEngine
) -> None:
    arguments = {"id": "s2:a", "direction": "cites", "year_from": 2018, "k": 1}
    first = await ask(agent, teapots, **arguments)
    second = await ask(agent, teapots, **arguments, cursor=first["next_cursor"])
    assert first["papers"] != second["papers"] and "next_cursor" not in second
    async with agent(engine=teapots) as client:
        other = await client.call_tool(
            "related_papers", {**arguments, "year_from": 2011, "cursor": first["next_cursor"]}
        )
    assert other.is_error and "[cursor-foreign]" in other.content[0].text
