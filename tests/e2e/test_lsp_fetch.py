"""Works are fetched in the editor: measured, confirmed, with progress and a cancel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from tests.fakes.bulk import BulkServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

BIB = """@inproceedings{one, title={On the growth of the Alder number 0}, author={Alder, Ann}, year=2000,
  booktitle={TREES}}
@inproceedings{two, title={On the growth of the Birch number 1}, author={Birch, Ann}, year=2001,
  booktitle={TREES}}
"""
PAPER = r"""\documentclass{article}\begin{document}
Trees grow \cite{one,two}. So do \cite<growth of the Cedar number 2>.
\bibliography{refs}\end{document}
"""
FETCH, SUGGESTIONS = "citewell.fetch", "citewell.fetchSuggestions"


@pytest.fixture(autouse=True)
def allowed(bulk_settings: Path, bulk: BulkServer) -> None:
    """DBLP and Crossref are allowed, with few works each."""
    bulk.count = 30
    text = bulk_settings.read_text(encoding="utf-8")
    text = text.replace("search", 'allow = ["dblp", "crossref"]\nsearch', 1)
    bulk_settings.write_text(text, encoding="utf-8")


class Author:
    """Answers the questions of the server with the first button that is known."""

    def __init__(self, editor: Any, *buttons: str) -> None:
        self.questions: list[str] = []
        self.buttons = buttons

        @editor.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.questions.append(params.message)
            titles = [action.title for action in params.actions or ()]
            return next(
                (types.MessageActionItem(one) for one in titles if one in self.buttons), None
            )


async def command(editor: Any, name: str, *arguments: Any) -> Any:
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=name, arguments=list(arguments))
    )


async def start(start_editor: Any, tmp_path: Path) -> Any:
    files = {"refs.bib": BIB, "paper.tex": PAPER}
    editor = await start_editor(files=files, library=tmp_path / "libraries")
    editor.open("paper.tex")
    return editor


async def cedars(editor: Any) -> list[Any]:
    items = await editor.complete("paper.tex", PAPER.index("number 2>") + 8)
    return [item for item in items if "Cedar number 2" in str(item.detail)]


async def test_what_a_paper_lacks_is_suggested_measured_confirmed_and_then_found(
    start_editor: Any, bulk: BulkServer, tmp_path: Path
) -> None:
    from citewell.options import Options
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    held = tmp_path / "held.jsonl"
    held.write_text('{"id": "a", "title": "Learning to sit still", "source": "x"}\n')
    library = tmp_path / "libraries" / "default"
    build_library(
        library,
        add=[FileSource(path=str(held), format="records")],
        builders=default_builders(Options()),
    )
    editor = await start(start_editor, tmp_path)
    assert not await cedars(editor)
    uri = editor.uri("paper.tex")
    suggested = await command(editor, SUGGESTIONS, uri)
    assert suggested == ["dblp --venue TREES --since 2000 --until 2001"]
    author = Author(editor, suggested[0], "Fetch")
    done = await command(editor, FETCH, {"uri": uri})
    assert "dblp: 30 works, about 1 MB and 1 min" in author.questions[-1]
    assert done["fetched"] > 0 and done["works"] == done["fetched"] + 1
    titles = [
        value.title
        for values in editor.client.progress_reports.values()
        for value in values
        if isinstance(value, types.WorkDoneProgressBegin)
    ]
    assert "Citewell: fetching from dblp" in titles
    done = await command(editor, FETCH, {"words": "crossref --query trees --max 30"})
    assert done["fetched"] == 30
    for _ in range(300):
        if await cedars(editor):
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the running server does not find what was fetched")


async def test_a_fetch_that_is_declined_or_not_allowed_fetches_nothing(
    start_editor: Any, bulk: BulkServer, tmp_path: Path
) -> None:
    editor = await start(start_editor, tmp_path)
    Author(editor, "Cancel")
    done = await command(editor, FETCH, {"words": "crossref --query trees"})
    assert done == {"fetched": 0}
    assert not (tmp_path / "libraries" / "default").exists()
    sent = len(bulk.requests)
    for words, message in (
        ("arxiv --category cs.CL", "citewell sources allow arxiv"),
        ("crossref --trees 1", "There is no option '--trees'"),
        ("crossref --category cs.CL", "cannot select by --category"),
    ):
        assert await command(editor, FETCH, {"words": words}) == {"fetched": 0}
        await editor.wait_for(lambda text=message: any(text in one for one in editor.messages))
    assert len(bulk.requests) == sent


async def test_the_button_ends_a_fetch_and_the_next_one_goes_on(
    start_editor: Any, bulk: BulkServer, tmp_path: Path
) -> None:
    bulk.count, bulk.page, bulk.slow = 1000, 10, 0.2
    editor = await start(start_editor, tmp_path)
    Author(editor, "Fetch")
    request = asyncio.ensure_future(command(editor, FETCH, {"words": "crossref --query trees"}))
    await editor.wait_for(lambda: len(bulk.requests) > 8, 60)
    tokens = {
        value.title: token
        for token, values in editor.client.progress_reports.items()
        for value in values
        if isinstance(value, types.WorkDoneProgressBegin)
    }
    editor.client.window_work_done_progress_cancel(
        types.WorkDoneProgressCancelParams(token=tokens["Citewell: fetching from crossref"])
    )
    assert (await request)["cancelled"]
    before = len(bulk.requests)
    bulk.slow, bulk.page = 0.0, 200
    done = await command(editor, FETCH, {"words": "crossref --query trees"})
    assert done["fetched"] < 1000 and done["works"] == 1000
    # Between the two nothing was asked for: the process of the first one had ended.
    assert len(bulk.requests) > before
