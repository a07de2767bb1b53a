"""The packages for agents follow their schemas, and start and name what there is."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from citewell import __version__
from citewell.model.check import Verdict
from citewell.model.document import LANGUAGE_SUFFIXES

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "clients" / "agents"
BUNDLE = ROOT / "clients" / "mcpb"
SKILL = PLUGIN / "skills" / "cite-and-verify" / "SKILL.md"
CLIENTS = ROOT / "tests" / "e2e" / "mcp" / "clients" / "node_modules"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def starts(command: str, arguments: list[str]) -> None:
    """Fails unless this is a command line of ours."""
    from citewell.cli.app import root

    assert command == "citewell"
    found = root.get_command(None, arguments[0])  # type: ignore[arg-type]
    assert found is not None
    known = {name for option in found.params for name in option.opts}
    assert {one for one in arguments[1:] if one.startswith("--")} <= known


@pytest.mark.skipif(importlib.util.find_spec("skillsaw") is None, reason="needs skillsaw")
def test_the_plugin_for_claude_code_and_codex_has_no_faults() -> None:
    """By a linter that knows the manifests, the servers and the skills of both."""
    command = [sys.executable, "-m", "skillsaw", "lint", str(PLUGIN)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PLUGIN)
    assert found.returncode == 0, found.stdout
    assert re.search(r"Errors: +0", found.stdout) and re.search(r"Warnings: +0", found.stdout)
    assert "codex-plugin" in found.stdout and "agentskills" in found.stdout


def test_all_packages_have_one_version_and_one_description() -> None:
    plugin, codex = (
        read(PLUGIN / f".{name}-plugin" / "plugin.json") for name in ("claude", "codex")
    )
    market = read(ROOT / ".claude-plugin" / "marketplace.json")
    bundle = read(BUNDLE / "manifest.json")
    (listed,) = market["plugins"]
    versions = {one["version"] for one in (plugin, codex, bundle, market["metadata"])}
    assert versions == {__version__}
    card = read(ROOT / "server.json")
    descriptions = {one["description"] for one in (plugin, codex, bundle, listed, card)}
    assert len(descriptions) == 1
    assert ROOT.joinpath(listed["source"]).samefile(PLUGIN) and listed["name"] == plugin["name"]
    assert card["repository"]["url"] == plugin["repository"] == bundle["repository"]["url"]
    for name in ("skills", "mcpServers"):
        assert PLUGIN.joinpath(codex[name]).exists()


def test_the_plugin_starts_what_there_is() -> None:
    (server,) = read(PLUGIN / ".mcp.json")["mcpServers"].values()
    starts(server["command"], server["args"])
    (editor,) = read(PLUGIN / ".lsp.json").values()
    starts(editor["command"], editor["args"])
    for suffix, language in editor["extensionToLanguage"].items():
        assert language == "bibtex" or LANGUAGE_SUFFIXES[language] == suffix


async def test_the_skill_is_short_and_names_what_there_is() -> None:
    from citewell.engine.local import LocalEngine
    from citewell.mcp.server import create_server
    from citewell.options import Options

    text = SKILL.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    engine = LocalEngine.open(Options())
    tools = await create_server(Options(), engine).list_tools()
    engine.close()
    parameters = {name for tool in tools for name in tool.input_schema["properties"]}
    names = set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    assert names <= {tool.name for tool in tools} | parameters | {"next_cursor"}
    assert set(re.findall(r'"([a-z_]+)":', text)) - {"smith2020"} <= parameters
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", text, flags=re.MULTILINE))
    assert rows == {one.value for one in Verdict} - {Verdict.VERIFIED.value}


def test_the_bundle_is_as_its_schema_wants_it() -> None:
    manifest = read(BUNDLE / "manifest.json")
    schemas = CLIENTS / "@anthropic-ai" / "mcpb" / "schemas"
    if not schemas.exists():
        pytest.skip("needs what scripts/install-mcp-clients.sh installs")
    schema = read(schemas / f"mcpb-manifest-v{manifest['manifest_version']}.schema.json")
    validator = jsonschema.Draft7Validator(schema)
    assert not list(validator.iter_errors(manifest))
    assert list(validator.iter_errors({**manifest, "server": {"type": "uv"}}))


def test_the_bundle_holds_what_it_starts() -> None:
    manifest = read(BUNDLE / "manifest.json")
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == __version__
    for name in ("citewell", "citewell-starter"):
        wheel = project["tool"]["uv"]["sources"][name]["path"]
        assert wheel == f"wheel/{name.replace('-', '_')}-{__version__}-py3-none-any.whl"
    server = manifest["server"]
    assert (BUNDLE / server["entry_point"]).exists()
    assert server["entry_point"] in server["mcp_config"]["args"]
    held = re.search(r"^mcpb:.*?\n\n", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M | re.S)
    assert held is not None
    assert all(
        name in held[0] for name in ("manifest.json", "pyproject.toml", "server.py", "wheel")
    )


async def test_the_bundle_serves_each_of_its_folders(tmp_path: Path) -> None:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.bib").write_text("@misc{a, title={Nothing}}\n")
    arguments = [str(BUNDLE / "server.py"), "--root", str(tmp_path / "one"), str(tmp_path / "two")]
    server = StdioServerParameters(command=sys.executable, args=arguments)
    async with Client(stdio_client(server)) as client:
        for name in ("one", "two"):
            found = await client.read_resource(f"bib-file://{name}.bib")
            assert "@misc{a" in found.contents[0].text


def test_the_files_for_directories_start_the_server() -> None:
    start = yaml.safe_load((ROOT / "smithery.yaml").read_text(encoding="utf-8"))["startCommand"]
    jsonschema.Draft7Validator.check_schema(start["configSchema"])
    jsonschema.validate(start["exampleConfig"], start["configSchema"])
    assert start["type"] == "stdio"
    lists = re.findall(r"\[([^\]]*)\]", start["commandFunction"])
    for one in lists:
        starts("citewell", [part.strip().strip("'") for part in one.split(",")])
    assert set(read(ROOT / "glama.json")) == {"$schema", "maintainers"}
