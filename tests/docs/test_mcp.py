"""The page for agents knows every tool, and its snippets start what there is."""

import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


async def test_every_tool_has_a_row_and_every_row_is_a_tool() -> None:
    pytest.importorskip("mcp")
    from citewell.engine.local import LocalEngine
    from citewell.mcp.server import create_server
    from citewell.options import Options

    engine = LocalEngine.open(Options())
    tools = {tool.name for tool in await create_server(Options(), engine).list_tools()}
    engine.close()
    rows = PAGE.partition("## Tools")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", rows, flags=re.MULTILINE)) == tools


def test_the_snippets_start_the_server() -> None:
    snippets = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        found = json.loads(snippet)
        (servers,) = found.values()
        assert servers["citewell"]["command"] == "citewell"
        assert servers["citewell"]["args"][:2] == ["mcp", "--root"]


def test_each_client_is_named() -> None:
    for name in ("Claude Desktop", "Claude Code", "VS Code", "Cursor"):
        assert f"**{name}**" in PAGE
