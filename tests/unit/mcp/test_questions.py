"""What the server asks the client: in which folders it works, and whether its user wants a change."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import ElicitResult, ErrorData, ListRootsResult, Root

from citewell.engine.local import LocalEngine
from citewell.mcp.roots import Roots
from citewell.mcp.server import create_server
from citewell.options import Options

MODES = ("auto", "legacy")
PAPER = "\\begin{document}\nWe use \\cite<attention is all you need>.\n\\bibliography{refs}\n"


class User:
    """Answers questions alike, and keeps them."""

    def __init__(self, action: str, folders: list[Path] | None = None) -> None:
        self.action = action
        self.folders = folders
        self.messages: list[str] = []

    async def answer(self, context: Any, params: Any) -> ElicitResult:
        self.messages.append(params.message)
        content = {} if self.action == "accept" else None
        return ElicitResult(action=self.action, content=content)  # type: ignore[arg-type]

    async def list_folders(self, context: Any) -> ListRootsResult | ErrorData:
        return ListRootsResult(roots=[Root(uri=one.as_uri()) for one in self.folders or ()])  # type: ignore[arg-type]

    @property
    def callbacks(self) -> dict[str, Any]:
        found: dict[str, Any] = {"elicitation_callback": self.answer} if self.action else {}
        return (
            found if self.folders is None else {**found, "list_roots_callback": self.list_folders}
        )


@pytest.fixture
def user_client(paper_options: Options, paper_engine: LocalEngine) -> Callable[..., Any]:
    """`async with user_client(user, root, mode=mode) as client`: a client that answers questions."""

    @contextlib.asynccontextmanager
    async def opened(
        user: User, *folders: Path, mode: Any, allow_write: bool = True, **how: Any
    ) -> AsyncIterator[Client]:
        server = create_server(
            paper_options, paper_engine, Roots.open(folders), allow_write=allow_write, **how
        )
        async with Client(server, mode=mode, **user.callbacks) as client:
            yield client

    return opened


@pytest.mark.parametrize("mode", MODES)
async def test_an_entry_is_written_once_the_user_has_seen_it_and_wants_it(
    user_client: Any, tmp_path: Path, mode: str
) -> None:
    user = User("accept")
    async with user_client(user, tmp_path, mode=mode) as client:
        arguments = {"id": "fx:5", "bib": "refs.bib"}
        shown = (await client.call_tool("add_entry", arguments)).structured_content
        assert not user.messages, "nothing is asked where nothing is written"
        done = (
            await client.call_tool("add_entry", {**arguments, "write": True})
        ).structured_content
        again = (
            await client.call_tool("add_entry", {**arguments, "write": True})
        ).structured_content
    assert done["written"] and done["key"] == shown["key"]
    assert again["already_there"]
    (message,) = user.messages
    assert message.startswith("Add to refs.bib?") and "+  title = {Graph Attention" in message
    assert "Graph Attention Networks" in (tmp_path / "refs.bib").read_text()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_nothing_is_written_unless_the_user_confirms(
    user_client: Any, tmp_path: Path, mode: str, action: str
) -> None:
    (tmp_path / "refs.bib").write_text("@misc{a, title={Nothing}}\n")
    (tmp_path / "main.tex").write_text(PAPER)
    before = [path.read_text() for path in sorted(tmp_path.iterdir())]
    user = User(action)
    async with user_client(user, tmp_path, mode=mode) as client:
        for tool, arguments in (
            ("add_entry", {"id": "fx:5", "bib": "refs.bib"}),
            ("add_entries", {"ids": ["fx:5"], "bib": "refs.bib"}),
            ("fill_document", {"path": "main.tex", "diff": False, "max_tokens": 10}),
            ("check_references", {"path": "refs.bib", "changes": {"a": "remove"}}),
        ):
            found = (await client.call_tool(tool, {**arguments, "write": True})).structured_content
            assert not found["written"], tool
            assert "did not confirm" in found["notes"]
    assert len(user.messages) == 4
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_yes_does_not_open_a_server_that_only_reads(
    user_client: Any, tmp_path: Path, mode: str
) -> None:
    user = User("accept")
    async with user_client(user, tmp_path, mode=mode, allow_write=False) as client:
        arguments = {"id": "fx:5", "bib": "refs.bib", "write": True}
        found = await client.call_tool("add_entry", arguments)
    assert found.is_error and "mcp-read-only" in found.content[0].text
    assert not user.messages and not (tmp_path / "refs.bib").exists()


@pytest.mark.parametrize("mode", MODES)
async def test_files_are_those_of_the_folder_in_which_the_client_works(
    user_client: Any, tmp_path: Path, mode: str
) -> None:
    """It is inside of a root; one that is not does not count, and of one above the root does."""
    papers, outside = tmp_path / "papers", tmp_path / "outside"
    for folder in (papers / "one", papers / "two", outside):
        folder.mkdir(parents=True)
        (folder / "refs.bib").write_text(f"@misc{{{folder.name}, title={{Nothing}}}}\n")
    for folders, name in (
        ([papers / "two"], "two"),
        ([outside, papers / "one"], "one"),
        ([outside], ""),
        ([], ""),
    ):
        user = User("accept", folders)
        async with user_client(user, papers, mode=mode) as client:
            found = await client.call_tool("check_references", {"path": "refs.bib"})
            if name:
                (reference,) = found.structured_content["references"]
                assert reference["key"] == name
            else:
                assert "[file-missing]" in found.content[0].text
            arguments = {"id": "fx:5", "bib": "new.bib", "write": True}
            added = await client.call_tool("add_entry", arguments)
            assert added.structured_content["written"]
            (papers / name / "new.bib").unlink()
    assert not (outside / "new.bib").exists()
    above = User("accept", [tmp_path])
    async with user_client(above, papers, mode=mode) as client:
        found = await client.call_tool("check_references", {"path": "one/refs.bib"})
        assert found.structured_content["references"][0]["key"] == "one"
        hidden = await client.call_tool("check_references", {"path": "outside/refs.bib"})
        assert hidden.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_folders_of_a_client_open_nothing_without_a_root(
    user_client: Any, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "refs.bib").write_text("")
    async with user_client(User("", [tmp_path]), mode=mode, allow_write=False) as client:
        found = await client.call_tool("check_references", {"path": "refs.bib"})
    assert found.is_error and "[mcp-no-root]" in found.content[0].text
