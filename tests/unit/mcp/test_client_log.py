"""What a client is told beside the answers, in the newest protocol and in the older ones."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from citewell.engine.local import LocalEngine
from citewell.mcp.roots import Roots
from citewell.mcp.server import create_server
from citewell.options import Options
from citewell.serving.problem_json import HIDDEN

REFERENCE = "@article{x, title={A Paper That Nobody Wrote on Teacups}, year={2011}}"


@contextlib.asynccontextmanager
async def listening(
    options: Options, engine: Any, heard: list[tuple[str, str]], root: Path, **how: Any
) -> AsyncIterator[Any]:
    async def hear(message: Any) -> None:
        heard.append((message.level, message.data))

    server = create_server(options, engine, Roots.open([root]), allow_write=True)
    async with Client(server, logging_callback=hear, **how) as client:
        yield client


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("how", [{"mode": "legacy"}, {"log_level": "info"}])
async def test_checks_and_changes_are_told(
    paper_options: Options, paper_engine: LocalEngine, tmp_path: Path, how: dict[str, Any]
) -> None:
    heard: list[tuple[str, str]] = []
    async with listening(paper_options, paper_engine, heard, tmp_path, **how) as client:
        await client.call_tool("check_references", {"text": REFERENCE})
        (tmp_path / "refs.bib").touch()
        await client.call_tool("add_entry", {"id": "fx:1", "bib": "refs.bib", "write": True})
    assert heard == [
        ("info", "1 references checked: 1 not-found"),
        ("notice", "refs.bib and what belongs to it was changed"),
    ]


async def test_the_newest_protocol_tells_only_those_who_ask(
    paper_options: Options, paper_engine: LocalEngine, tmp_path: Path
) -> None:
    heard: list[tuple[str, str]] = []
    async with listening(paper_options, paper_engine, heard, tmp_path) as client:
        assert client.protocol_version >= "2026"
        await client.call_tool("check_references", {"text": REFERENCE})
    assert heard == []


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_an_older_client_sets_its_level(
    paper_options: Options, paper_engine: LocalEngine, tmp_path: Path
) -> None:
    heard: list[tuple[str, str]] = []
    async with listening(paper_options, paper_engine, heard, tmp_path, mode="legacy") as client:
        assert client.server_capabilities.logging is not None
        await client.set_logging_level("notice")
        await client.call_tool("check_references", {"text": REFERENCE})
    assert heard == []


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_no_key_reaches_a_client(
    paper_options: Options,
    paper_engine: LocalEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A path that holds what a variable keeps secret comes back without it, in logs and errors."""
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", "hidden-horse-staple")
    heard: list[tuple[str, str]] = []
    (tmp_path / "hidden-horse-staple.bib").touch()
    async with listening(paper_options, paper_engine, heard, tmp_path, mode="legacy") as client:
        arguments = {"id": "fx:1", "bib": "hidden-horse-staple.bib", "write": True}
        assert not (await client.call_tool("add_entry", arguments)).is_error
        failed = await client.call_tool("fill_document", {"path": "hidden-horse-staple.bib"})
    assert heard == [("notice", f"{HIDDEN}.bib and what belongs to it was changed")]
    assert failed.is_error and "horse" not in failed.content[0].text
