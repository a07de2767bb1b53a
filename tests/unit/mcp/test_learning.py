"""What an agent enters into a bibliography is kept, with what it was offered for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.history_store import HistoryStore
from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LearningOptions

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> HistoryStore:
    return HistoryStore(tmp_path / "data" / "history.sqlite")


@pytest.fixture
def learning(paper_options: Options, store: HistoryStore) -> Iterator[LocalEngine]:
    on = replace(paper_options, learning=LearningOptions(enabled=True))
    engine = LocalEngine.open(on, history=store)
    yield engine
    engine.close()


def kept(store: HistoryStore) -> list[tuple[Any, ...]]:
    return [(e.kind, e.work, e.through, e.variant, bool(e.asked)) for e in store.read()]


async def test_an_entry_that_is_written_is_kept_and_one_that_is_shown_is_not(
    agent: Callable[..., Any], learning: LocalEngine, store: HistoryStore, tmp_path: Path
) -> None:
    paper = tmp_path / "paper"
    paper.mkdir()
    async with agent(paper, allow_write=True, engine=learning) as client:
        found = await client.call_tool("find_citations", {"text": "Graphs use attention."})
        second = found.structured_content["places"][0]["papers"][1]["id"]
        entry = {"id": second, "bib": "refs.bib"}
        await client.call_tool("add_entry", entry)
        assert kept(store) == []
        done = await client.call_tool("add_entry", entry | {"write": True})
        assert done.structured_content["written"]
    assert kept(store) == [("accepted", second, "mcp", "learned", True)]
    assert store.read()[0].project == str(paper)


async def test_a_document_that_is_filled_is_kept_placeholder_by_placeholder(
    agent: Callable[..., Any], learning: LocalEngine, store: HistoryStore, tmp_path: Path
) -> None:
    paper = tmp_path / "paper"
    paper.mkdir()
    (paper / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\nWe use \\cite<graph attention networks> and "
        "\\cite<graph attention networks>.\n\\bibliography{refs}\\end{document}\n",
        encoding="utf-8",
    )
    async with agent(paper, allow_write=True, engine=learning) as client:
        arguments = {"path": "main.tex", "threshold": 0.0}
        await client.call_tool("fill_document", arguments)
        assert kept(store) == []
        await client.call_tool("fill_document", arguments | {"write": True})
    (one,) = kept(store)
    assert one == ("accepted", "fx:5", "fill", "learned", True), "the second place adds no entry"


async def test_what_the_agent_chose_is_told_from_what_was_filled_unattended(
    agent: Callable[..., Any], learning: LocalEngine, store: HistoryStore, tmp_path: Path
) -> None:
    paper = tmp_path / "paper"
    paper.mkdir()
    (paper / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\nWe use \\cite<graph attention networks>. "
        "Images \\cite<attention>.\n\\bibliography{refs}\\end{document}\n",
        encoding="utf-8",
    )
    async with agent(paper, allow_write=True, engine=learning) as client:
        arguments = {"path": "main.tex", "threshold": 0.0}
        shown = (await client.call_tool("fill_document", arguments)).structured_content
        first = shown["placeholders"][0]["paper"]["id"]
        chosen = "fx:1"
        arguments |= {"choices": {"2": chosen}, "write": True}
        await client.call_tool("fill_document", arguments)
    assert [(work, through) for _, work, through, _, _ in kept(store)] == [
        (first, "fill"),
        (chosen, "mcp"),
    ]
