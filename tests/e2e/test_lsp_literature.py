"""A paper whose references the library lacks: the offer to fetch the literature around it comes by
itself, once, and nothing is sent before the author agrees."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from tests.fakes.bulk import NAMES, BulkServer

from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import FileSource

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = 12
BIB = "".join(
    f"@article{{k{i}, title={{On the growth of the {NAMES[i % 10]} number {i}}},\n"
    f"  author={{{NAMES[i % 10]}, Ann}}, year={2000 + i % 20}, doi={{10.5555/oa.{i}}}}}\n"
    for i in range(40, 40 + COUNT)
)
PAPER = (
    "\\documentclass{article}\\begin{document}\nTrees grow \\cite{"
    + ",".join(f"k{i}" for i in range(40, 40 + COUNT))
    + "}.\n\\bibliography{refs}\\end{document}\n"
)
OFFER = f"The library holds 0 of the {COUNT} references of paper.tex."


class Author:
    """Answers the questions of the server in order; the last answer is repeated."""

    def __init__(self, editor: Any, *answers: str) -> None:
        self.questions: list[str] = []
        self._answers = list(answers)

        def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.questions.append(params.message)
            answer = self._answers.pop(0) if self._answers else ""
            return types.MessageActionItem(answer) if answer else None

        editor.client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE_REQUEST] = ask


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A folder with a library of another field."""
    held = tmp_path / "held.jsonl"
    held.write_text('{"id": "a", "title": "Learning to sit still", "source": "x"}\n')
    build_library(
        tmp_path / "libraries" / "default",
        add=[FileSource(path=str(held), format="records")],
        builders=default_builders(Options()),
    )
    return tmp_path / "libraries"


async def start(start_editor: Any, libraries: Path, *answers: str, **client: Any) -> Any:
    files = {"refs.bib": BIB, "paper.tex": PAPER}
    editor = await start_editor(files=files, library=libraries, **client)
    author = Author(editor, *answers)
    editor.open("paper.tex")
    return editor, author


def shows_problems(capabilities: types.ClientCapabilities) -> None:
    """Announce what the extension for VS Code announces."""
    capabilities.experimental = {"citewell": {"problems": True}}


async def test_the_offer_leads_through_permission_and_plan_to_the_fetched_works(
    start_editor: Any, bulk_settings: Path, libraries: Path, bulk: BulkServer
) -> None:
    answers = ("Fetch the Literature", "Allow", "Fetch")
    editor, author = await start(start_editor, libraries, *answers, capabilities=shows_problems)
    await editor.wait_for(lambda: len(author.questions) == 3, 60)
    assert author.questions[0] == OFFER
    assert "to OpenAlex (api.openalex.org)" in author.questions[1]
    assert "works on Growth of Trees and Forest Soils" in author.questions[2]
    await editor.wait_for(
        lambda: any("works fetched from openalex" in one for one in editor.messages), 90
    )
    assert tomllib.loads(bulk_settings.read_text())["sources"]["allow"] == ["openalex"]
    assert bulk.requests


@pytest.mark.parametrize(
    ("answer", "kept"), [("Not for This Paper", "paper.tex"), ("Never", "all"), ("Not now", "")]
)
async def test_a_declined_offer_sends_nothing_and_is_not_repeated(
    start_editor: Any,
    bulk_settings: Path,
    libraries: Path,
    bulk: BulkServer,
    answer: str,
    kept: str,
) -> None:
    editor, author = await start(start_editor, libraries, answer, capabilities=shows_problems)
    await editor.wait_for(lambda: len(author.questions) == 1, 60)
    await editor.wait_for(lambda: kept in bulk_settings.read_text(), 10)
    assert ("no_offer" in bulk_settings.read_text()) is bool(kept)
    editor.type("paper.tex", PAPER.index("Trees grow") + len("Trees grow"), " slowly")
    await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams("citewell.check")
    )
    assert author.questions == [OFFER]
    assert bulk.requests == []


async def test_another_editor_shows_one_line_with_the_command_and_can_end_it(
    start_editor: Any, bulk_settings: Path, libraries: Path, bulk: BulkServer
) -> None:
    editor, author = await start(start_editor, libraries)
    await editor.wait_for(lambda: any(OFFER in one for one in editor.messages), 20)
    (message,) = [one for one in editor.messages if OFFER in one]
    assert "`:Citewell fetch paper`" in message
    await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams("citewell.declineFetch", [editor.uri("paper.tex")])
    )
    assert "paper.tex" in tomllib.loads(bulk_settings.read_text())["sources"]["no_offer"][0]
    assert author.questions == [] and bulk.requests == []
