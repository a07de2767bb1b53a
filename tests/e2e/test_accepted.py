"""What is accepted from an online answer is kept, and found from then on without the network."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HELD = (
    '{"id": "a1", "title": "Learning to sit still", "authors": ["Ana García", "Wei Li"], '
    '"year": 2019, "venue": "ACL", "doi": "10.5555/sit.1", "source": "acl-anthology"}\n'
)
PAPER = r"""\documentclass{article}\begin{document}
Kettles wait \cite<patience of kettles>. They boil \cite<kettles>.
\bibliography{refs}\end{document}
"""
KETTLES = "Patience of Kettles"


@pytest.fixture
def environment(tmp_path: Path, fake_sources: Any) -> dict[str, str]:
    """Default settings, but for one allowed source that answers on this machine."""
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["openreview"]\nbase_url = "{fake_sources.url}"\n', encoding="utf-8"
    )
    return {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_CONFIG": str(config),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *arguments], cwd=tmp_path, env=environment | more,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300,
            check=False,
        )  # fmt: skip

    (tmp_path / "held.jsonl").write_text(HELD, encoding="utf-8")
    done = call("library", "add", "held.jsonl")
    assert done.returncode == 0, done.stderr
    return call


def titles(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [hit["work"]["title"] for hit in json.loads(done.stdout)["hits"]]


def take(run: Run, **more: str) -> str:
    """Have the entry of the paper that only the source has written out."""
    done = run("find", "--online", "--bibtex", "-k", "1", "the patience of kettles", **more)
    assert KETTLES in done.stdout, done.stdout + done.stderr
    return done.stdout


def test_a_paper_of_a_source_is_found_and_checked_without_network(
    run: Run, tmp_path: Path, fake_sources: Any
) -> None:
    assert not any(
        KETTLES in title for title in titles(run("find", "patience of kettles", "--json"))
    )
    entry = take(run)
    fake_sources.log.clear()
    found = run("find", "patience of kettles", "--json")
    assert KETTLES in titles(found)[0]
    (work,) = [
        hit["work"] for hit in json.loads(found.stdout)["hits"] if KETTLES in hit["work"]["title"]
    ]
    (origin,) = work["provenance"]
    assert origin["source"] == "openreview" and origin["source_id"] and origin["retrieved"]
    # The library's own papers are found as before.
    assert titles(run("find", "learning to sit still", "--json"))[0] == "Learning to sit still"
    (tmp_path / "refs.bib").write_text(entry, encoding="utf-8")
    done = run("check", "refs.bib", "--format", "json")
    assert '"verified"' in done.stdout, done.stdout
    assert fake_sources.log == []
    shown = run("library", "explain", work["id"], "--name", "accepted")
    assert "openreview" in shown.stdout and origin["retrieved"] in shown.stdout


def test_nothing_is_kept_when_the_setting_is_off(run: Run, tmp_path: Path) -> None:
    take(run, CITEWELL_SOURCES_KEEP="false")
    assert not (tmp_path / "data" / "libraries" / "accepted").exists()
    take(run)
    assert KETTLES in titles(run("find", "patience of kettles", "--json"))[0]
    # What was kept before is not searched either.
    off = run("find", "patience of kettles", "--json", CITEWELL_SOURCES_KEEP="false")
    assert not any(KETTLES in title for title in titles(off))


def test_kept_records_are_removed_one_by_one_and_all_together(run: Run, tmp_path: Path) -> None:
    take(run)
    work = json.loads(run("find", "patience of kettles", "--json").stdout)["hits"][0]["work"]
    done = run("library", "forget", "no such paper")
    assert done.returncode == 1 and "no such paper" in done.stderr
    done = run("library", "forget", work["id"])
    assert done.returncode == 0, done.stderr
    assert KETTLES in done.stdout
    assert not any(KETTLES in one for one in titles(run("find", "patience of kettles", "--json")))
    take(run)
    done = run("library", "remove", "--name", "accepted", "--yes")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "data" / "libraries" / "accepted").exists()


@pytest.mark.skipif(
    sys.platform == "win32" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="needs folders that cannot be written",
)
def test_libraries_that_may_not_be_written_leave_it_to_the_data_folder(
    run: Run, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    done = run("library", "add", "held.jsonl", CITEWELL_LIBRARY_PATH=str(shared))
    assert done.returncode == 0, done.stderr
    shared.chmod(0o555)
    try:
        take(run, CITEWELL_LIBRARY_PATH=str(shared))
        found = run("find", "patience of kettles", "--json", CITEWELL_LIBRARY_PATH=str(shared))
        assert KETTLES in titles(found)[0]
    finally:
        shared.chmod(0o755)
    assert (tmp_path / "data" / "libraries" / "accepted").is_dir()


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """The environment for servers that the fixtures start."""
    for name in ("CITEWELL_SOURCES_KEEP", "CITEWELL_LIBRARY_PATH", "CITEWELL_LIBRARY_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CITEWELL_CONFIG", "CITEWELL_DATA", "CITEWELL_CACHE"):
        monkeypatch.setenv(name, environment[name])


async def kettles(editor: Any, words: str) -> list[Any]:
    at = PAPER.index(f"<{words}>") + 1 + len(words)
    items = await editor.complete("paper.tex", at)
    return [item for item in items if KETTLES in str(item.detail)]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_completion_of_a_source_is_found_by_the_running_server_and_by_the_next_one(
    start_editor: Any, user: None, fake_sources: Any, run: Run, tmp_path: Path
) -> None:
    libraries = tmp_path / "data" / "libraries"
    files = {"paper.tex": PAPER, "refs.bib": ""}
    editor = await start_editor(files=files, library=libraries)
    editor.open("paper.tex")
    assert not await kettles(editor, "kettles")
    for _ in range(300):
        if items := await kettles(editor, "patience of kettles"):
            break
        await asyncio.sleep(0.1)
    # From here on nothing that a source says comes in time.
    fake_sources.delay = 600.0
    await editor.accept("paper.tex", items[0])
    await editor.wait_for(lambda: KETTLES in editor.text("refs.bib"))
    for _ in range(300):
        await asyncio.sleep(0.1)
        editor.open("other.tex", PAPER)
        at = PAPER.index("<kettles>") + 8
        found = await editor.complete("other.tex", at)
        if any(KETTLES in str(item.detail) for item in found):
            break
    else:
        pytest.fail("the running server never found the accepted paper")
    (tmp_path / "config.toml").write_text("", encoding="utf-8")
    later = await start_editor(files={**files, "refs.bib": ""}, library=libraries)
    later.open("paper.tex")
    for _ in range(300):
        if await kettles(later, "kettles"):
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the next server does not find the accepted paper")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_entry_that_an_agent_adds_is_found_without_network(
    environment: dict[str, str], run: Run, tmp_path: Path, fake_sources: Any
) -> None:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = ["-m", "citewell", "mcp", "--root", str(tmp_path), "--allow-write"]
    (tmp_path / "agent.bib").write_text("", encoding="utf-8")
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)
    async with Client(stdio_client(server)) as session:
        for _ in range(100):
            result = await session.call_tool("search_papers", {"query": "patience of kettles"})
            papers = result.structured_content["papers"]
            if found := [paper for paper in papers if KETTLES in paper["title"]]:
                break
            await asyncio.sleep(0.1)
        added = {"id": found[0]["id"], "bib": "agent.bib", "write": True}
        assert (await session.call_tool("add_entry", added)).structured_content["written"]
        fake_sources.delay = 600.0
        for _ in range(100):
            await asyncio.sleep(0.2)
            result = await session.call_tool("search_papers", {"query": "kettles"})
            if any(KETTLES in one["title"] for one in result.structured_content["papers"]):
                break
        else:
            pytest.fail("the running server never found the accepted paper")
    off = run("find", "kettles", "--json", CITEWELL_SOURCES_ALLOW="")
    assert KETTLES in titles(off)[0]
