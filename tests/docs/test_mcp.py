"""The page for agents knows every tool, and its snippets start what there is."""

import importlib.util
import json
import re
from pathlib import Path

import jsonschema
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


async def test_every_tool_has_a_row_and_every_row_is_a_tool() -> None:
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


ROOT = Path(__file__).resolve().parents[2]
CARD = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


def test_the_server_card_is_as_the_registry_wants_it() -> None:
    """By the registry's own schema, of the version that the card names; a linter ships it."""
    skillsaw = importlib.util.find_spec("skillsaw")
    if skillsaw is None or skillsaw.origin is None:
        pytest.skip("needs the package skillsaw")
    version = CARD["$schema"].split("/")[-2]
    folder = Path(skillsaw.origin).parent / "schemas" / "mcp_registry"
    schema = folder / f"v{version.replace('-', '_')}" / "server.schema.json"
    validator = jsonschema.Draft7Validator(
        json.loads(schema.read_text(encoding="utf-8")),
        format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER,
    )
    assert not list(validator.iter_errors(CARD))
    assert list(validator.iter_errors({**CARD, "name": "no namespace"}))


def test_the_server_card_starts_what_there_is() -> None:
    from citewell import __version__
    from citewell.cli.serve import mcp
    from citewell.options.merge import load

    (package,) = CARD["packages"]
    assert CARD["version"] == package["version"] == __version__
    extras = [one["value"] for one in package["runtimeArguments"]]
    assert extras == [f"citewell-starter=={__version__}"]
    command, *options = package["packageArguments"]
    assert command["value"] == mcp.name
    known = {name for option in mcp.params for name in option.opts}
    assert {one["name"] for one in options} <= known
    (variable,) = package["environmentVariables"]
    loaded = load(environ={variable["name"]: "/somewhere"})
    assert loaded.options.library.path == Path("/somewhere")
    # By this line of the page on PyPI the registry knows that name and package are one's own.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- mcp-name: {CARD['name']} -->" in readme
