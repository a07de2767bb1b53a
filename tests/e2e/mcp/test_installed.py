"""The server starts from what the wheels of Citewell and the starter library install, without an extra."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

REPOSITORY = Path(__file__).resolve().parents[3]
STARTER = REPOSITORY / "corpus_tools" / "starter"


async def test_the_plain_command_serves_the_starter_library(
    env: dict[str, str], tmp_path: Path
) -> None:
    environment = env | {"CITEWELL_LIBRARY_PATH": str(tmp_path / "none"), "PYTHONPATH": ""}
    venv.create(tmp_path / "fresh", with_pip=True)
    programs = tmp_path / "fresh" / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check"]
    wheels = tmp_path / "wheels"
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "-w", str(wheels), str(REPOSITORY), str(STARTER)],
        check=True, timeout=600,
    )  # fmt: skip
    subprocess.run([*pip, "install", "-q", *map(str, wheels.iterdir())], check=True, timeout=600)
    server = StdioServerParameters(
        command=str(programs / "citewell"), args=["mcp"], env=environment
    )
    async with Client(stdio_client(server)) as client:
        assert len((await client.list_tools()).tools) == 10
        found = await client.call_tool("search_papers", {"query": "attention is all you need"})
    assert found.structured_content is not None
    assert found.structured_content["papers"][0]["title"].lower() == "attention is all you need"
