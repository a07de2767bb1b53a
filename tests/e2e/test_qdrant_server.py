"""Candidates from a Qdrant server, through the command line and the language server: what the
server cannot answer the embedded indexes do, and the answer says why."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
QUERY = "graph attention networks"
KEY = "a-key-of-this-test"
PAPER = (
    "\\documentclass{article}\n\\begin{document}\nWe use CITE here.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


@pytest.fixture(scope="module")
def shared_server(
    qdrant_fake: Any, env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A server that holds the library of `env`; it is as it was after each test."""
    server = qdrant_fake.QdrantServer(tmp_path_factory.mktemp("qdrant") / "collections").start()
    run = citewell(env, "library", "build", "--to", server.address("papers"), "--json")
    assert run.returncode == 0, run.stderr
    written = json.loads(run.stdout)
    assert written["works"] == written["points"] > 0
    yield server
    server.stop()


def citewell(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in env.items() if name != "QDRANT_API_KEY"}
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def find(env: dict[str, str], **more: str) -> tuple[list[str], list[str]]:
    """The works that `citewell find` shows, and the codes of its problems."""
    run = citewell(env | more, "find", "--json", QUERY)
    assert run.returncode == 0, run.stderr
    assert KEY not in run.stdout + run.stderr
    found = json.loads(run.stdout)
    hits = [hit["work"]["id"] for hit in found["hits"]]
    return hits, [problem["code"] for problem in found["problems"]]


def of_url(address: str) -> dict[str, str]:
    return {"CITEWELL_LIBRARY_URL": address}


@pytest.fixture(scope="module")
def expected(env: dict[str, str]) -> list[str]:
    """What the embedded indexes answer."""
    hits, problems = find(env)
    assert hits and problems == []
    return hits


@pytest.mark.parametrize(
    ("match", "kind", "code"),
    [("/points/query", "hang", "backend-late"), ("/points/query", "die", "backend-unreachable"),
     ("/points$", "500", "backend-failed")],
)  # fmt: skip
def test_a_server_that_fails_leaves_the_embedded_answers_and_its_problem(
    shared_server: Any, env: dict[str, str], expected: list[str], match: str, kind: str, code: str
) -> None:
    with shared_server.failing(match, kind):
        # A request may take half of the time of a retriever.
        found = find(
            env, CITEWELL_RETRIEVAL_TIMEOUT_MS="30000", **of_url(shared_server.address("papers"))
        )
    assert found[0] == expected
    assert set(found[1]) == {code}


def test_vectors_of_another_length_are_reported_and_replaced_by_the_next_build(
    shared_server: Any, env: dict[str, str], expected: list[str]
) -> None:
    from citewell.retrieval.backend.connection import open_backend, open_target

    address = shared_server.address("shorter")
    assert citewell(env, "library", "build", "--to", address).returncode == 0
    state = open_backend(address).state()
    assert state is not None
    target = open_target(address, replace(state, dim=5))
    target.backend.set_state(replace(state, dim=5))
    target.publish()
    assert find(env, **of_url(address)) == (expected, ["backend-dimension"])
    assert citewell(env, "library", "build", "--to", address).returncode == 0
    assert find(env, **of_url(address)) == (expected, [])


def test_the_commands_that_write_report_what_is_wrong(
    shared_server: Any, env: dict[str, str], tmp_path: Path
) -> None:
    address = shared_server.address("papers")
    runs = {
        "backend-unreachable": ("library", "build", "--to", "qdrant://127.0.0.1:1/papers"),
        "backend-address": ("library", "build", "--to", shared_server.address("papers-1")),
        "backend-missing": ("library", "snapshot", shared_server.address("none"), str(tmp_path)),
    }
    for code, arguments in runs.items():
        run = citewell(env, *arguments)
        assert run.returncode == 2 and code in run.stderr, (code, run.stderr)
    with shared_server.failing("PUT .*/points", "500"):
        run = citewell(env, "library", "build", "--to", address, "--fresh")
        assert run.returncode == 2 and "backend-failed" in run.stderr
    run = citewell(env, "library", "build", "--to", f"edge:{tmp_path / 'edge'}", "--fresh")
    assert run.returncode == 2 and "--fresh" in run.stderr


def test_a_snapshot_is_restored(
    shared_server: Any, env: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    run = citewell(
        env, "library", "snapshot", shared_server.address("papers"), str(tmp_path), "--json"
    )
    assert run.returncode == 0, run.stderr
    snapshot = json.loads(run.stdout)["snapshot"]
    again = shared_server.address("again")
    run = citewell(env, "library", "restore", snapshot, again, "--json")
    assert run.returncode == 0 and json.loads(run.stdout)["points"] > 0
    assert find(env, **of_url(again)) == (expected, [])


@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_is_answered_while_the_server_is_away_and_after_it_came_back(
    qdrant_server: Any, start_editor: Callable[..., Any], library_folder: Path
) -> None:
    address = qdrant_server.address("papers")
    own = os.environ | {"CITEWELL_LIBRARY_PATH": str(library_folder)}
    run = citewell(own, "library", "build", "--to", address)
    assert run.returncode == 0, run.stderr
    editor = await start_editor(
        files={"refs.bib": ""},
        settings={
            "library": {"path": str(library_folder), "url": address},
            "retrieval": {"timeoutMs": 30_000},
        },
    )
    documents = iter(range(1_000_000))

    async def titles() -> list[str]:
        """What completes a placeholder of a new document."""
        name = f"paper{next(documents)}.tex"
        editor.open(name, PAPER.replace("CITE", r"\cite<graph attention>|"))
        return [item.detail for item in await editor.complete(name, trigger=">")]

    async def ask_until(condition: Callable[[set[str]], bool]) -> None:
        """Search again and again until the codes of the engine's problems are right."""
        async with asyncio.timeout(600):
            while True:
                assert await titles() == first
                status = await editor.execute("citewell.status")
                if condition({problem["code"] for problem in status["problems"]}):
                    return
                await asyncio.sleep(0.1)

    def is_searched(codes: set[str]) -> bool:
        """Whether the server was asked since the last look, and nothing is wrong."""
        lines, qdrant_server.requests[:] = qdrant_server.requests[:], []
        return not codes and any(line.endswith("/points/query") for line in lines)

    first = await titles()
    assert first[0] == "Graph Attention Networks"
    await ask_until(is_searched)
    qdrant_server.stop()
    await ask_until(lambda codes: codes == {"backend-unreachable"})
    qdrant_server.start()
    await ask_until(is_searched)
    for kind, code in (("die", "backend-unreachable"), ("hang", "backend-late")):
        with qdrant_server.failing("/points/query", kind):
            await ask_until(lambda codes, code=code: codes == {code})
        await ask_until(is_searched)
    qdrant_server.key = KEY
    await ask_until(lambda codes: codes == {"backend-key"})
    qdrant_server.key = ""
    await ask_until(is_searched)
