"""The server as an agent starts it: a real process, over its pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

PAPER = """\\documentclass{article}
\\begin{document}
Transformers \\cite<attention is all you need> came after
LSTMs \\cite<long short-term memory>.
\\bibliography{refs}
\\end{document}
"""
FILLED = PAPER.replace("<attention is all you need>", "{vaswani2017attention}").replace(
    "<long short-term memory>", "{hochreiter1997long}"
)
BIB = """@article{hochreiter1997long,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  journal = {Neural Computation},
  year = {1997}
}
"""


async def test_a_document_is_filled_over_the_pipes(
    env: dict[str, str], tmp_path: Path, client: Any, structured: Any
) -> None:
    (tmp_path / "main.tex").write_text(PAPER)
    (tmp_path / "refs.bib").write_text(BIB)
    async with client(env, "--root", str(tmp_path), "--allow-write") as session:
        done = await structured(session, "fill_document", path="main.tex", write=True)
        again = await structured(session, "fill_document", path="main.tex", write=True)
    assert done["written"] and not again["written"]
    assert (tmp_path / "main.tex").read_text() == FILLED
    bib = (tmp_path / "refs.bib").read_text()
    assert bib.startswith(BIB) and bib.count("@") == 2
    assert "@inproceedings{vaswani2017attention," in bib


async def test_a_pattern_of_bibliographies_is_expanded_and_never_written(
    env: dict[str, str], tmp_path: Path, client: Any, structured: Any
) -> None:
    text = PAPER.replace("\\bibliography{refs}", "\\addbibresource[glob]{bib/*.bib}")
    (tmp_path / "main.tex").write_text(text)
    (tmp_path / "bib").mkdir()
    (tmp_path / "bib" / "refs.bib").write_text(BIB)
    async with client(env, "--root", str(tmp_path), "--allow-write") as session:
        for arguments in ({"text": text, "path": "main.tex"}, {"text": text}):
            found = await structured(session, "find_citations", **arguments, k=1)
            keys = [place["papers"][0].get("key") for place in found["places"]]
            assert keys == [None, "hochreiter1997long" if "path" in arguments else None]
        assert await structured(session, "check_references", text=text)
        for tool, named in (("add_entry", {"id": "fx:1"}), ("add_entries", {"ids": ["fx:1"]})):
            arguments = {**named, "bib": "bib/*.bib", "write": True}
            refused = await session.call_tool(tool, arguments)
            assert refused.is_error and "bib/refs.bib" in refused.content[0].text
        assert (await structured(session, "fill_document", path="main.tex", write=True))["written"]
        checked = await structured(session, "check_references", path="main.tex")
    assert checked["counts"] == {"verified": 2}
    assert [one.name for one in (tmp_path / "bib").iterdir()] == ["refs.bib"]
    assert (tmp_path / "bib" / "refs.bib").read_text().count("\n@") == 1
    assert (tmp_path / "main.tex").read_text() == FILLED.replace(
        "\\bibliography{refs}", "\\addbibresource[glob]{bib/*.bib}"
    )


async def test_two_agents_at_once_add_every_paper_once(
    env: dict[str, str], tmp_path: Path, client: Any, structured: Any
) -> None:
    """Each has a server process of its own; a lost race is an error that says to try again."""
    (tmp_path / "a.bib").write_text("")
    (tmp_path / "b.bib").write_text("")

    async def add(bib: str) -> None:
        async with client(env, "--root", str(tmp_path), "--allow-write") as session:
            for n in range(1, 8):
                await structured(session, "add_entry", id=f"fx:{n}", bib=bib, write=True)

    await asyncio.gather(add("a.bib"), add("b.bib"))
    assert (tmp_path / "a.bib").read_text() == (tmp_path / "b.bib").read_text()
    assert (tmp_path / "a.bib").read_text().count("\n@") == 6


def test_a_client_that_disappears_leaves_no_process_behind(
    env: dict[str, str], tmp_path: Path
) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "citewell", "mcp", "--root", str(tmp_path)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    server.stdin.flush()
    assert b'"citewell"' in server.stdout.readline()
    server.stdin.write(
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_papers",'
        b'"arguments":{"query":"attention"}}}\n'
    )
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=60)


@pytest.fixture(scope="module")
def url(env: dict[str, str], serving: Any) -> Iterator[str]:
    """A server on HTTP that wants a token."""
    with serving(env) as (address, _):
        yield address


CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer a-token"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Authorization": "Bearer another"}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer a-token-and-more"}, 401),
    ],
)
def test_foreign_requests_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    import httpx2

    found = httpx2.post(url, json=CALL, headers=ACCEPT | headers, timeout=60)
    assert found.status_code == status, found.text


def test_an_open_address_wants_a_token(env: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "citewell", "mcp", "--http", "0.0.0.0:0"],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "CITEWELL_MCP_TOKEN" in run.stderr


def listening(process: psutil.Process) -> set[str]:
    """Addresses on which a server and its engine can be reached."""
    return {
        connection.laddr.ip
        for one in (process, *process.children(recursive=True))
        for connection in one.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
    }


async def test_nothing_can_be_reached_from_other_machines(
    env: dict[str, str], client: Any, serving: Any, over_http: Any, structured: Any
) -> None:
    """On pipes nothing listens at all; on HTTP only this machine's own address."""
    before = {one.pid for one in psutil.Process().children()}
    async with client(env) as session:
        await structured(session, "search_papers", query="attention")
        (process,) = [one for one in psutil.Process().children() if one.pid not in before]
        assert listening(process) == set()
    with serving(env) as (url, server):
        async with over_http(url) as session:
            await structured(session, "search_papers", query="attention")
            assert listening(psutil.Process(server.pid)) == {"127.0.0.1"}


LINES = [
    b"{", b"nope", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"1", b"null", b'""', b"{}",
    b"\xff\xfe", b"\x00", b"[" * 5000, b'{"a":' * 5000,
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping","params":5}', b'{"method":"ping"}',
]  # fmt: skip
"""Messages that name no request: the answer has no id."""
REQUESTS = [
    b'"jsonrpc":"1.0","method":"ping"', b'"method":"ping"', b'"jsonrpc":"2.0"',
    b'"jsonrpc":"2.0","method":5', b'"jsonrpc":"2.0","method":null', b'"jsonrpc":"2.0","method":""',
    b'"jsonrpc":"2.0","method":"ping","params":[1]', b'"jsonrpc":"2.0","method":"ping","params":"x"',
    b'"jsonrpc":"2.0","method":"ping","params":{"_meta":{"progressToken":{}}}',
    b'"jsonrpc":"2.0","method":"tools/call","params":{"name":5}',
    b'"jsonrpc":"2.0","method":"tools/call","params":{"name":"\\ud83d","arguments":{}}',
    b'"jsonrpc":"2.0","method":"tools/call","params":{"name":"search_papers",'
    b'"arguments":{"query":"graph \\ud83d attention"}}',
    b'"jsonrpc":"2.0","method":"prompts/get","params":{"name":"nosuch"}',
    b'"jsonrpc":"2.0","method":"prompts/get","params":{"name":5}',
    b'"jsonrpc":"2.0","method":"resources/read","params":{"uri":"nope"}',
    b'"jsonrpc":"2.0","method":"initialize"', b'"jsonrpc":"2.0","method":"notifications/initialized"',
]  # fmt: skip


def test_every_line_is_answered_and_none_with_a_traceback(
    env: dict[str, str], tmp_path: Path
) -> None:
    named = [b'{"id":%d,%s}' % (n, line) for n, line in enumerate(REQUESTS, 100)]
    begin = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ]
    silent = [b"", b"  ", b'{"jsonrpc":"2.0","id":5,"result":5}']
    with subprocess.Popen(
        [sys.executable, "-m", "citewell", "mcp", "--root", str(tmp_path)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b"".join(line + b"\n" for line in begin + LINES + silent + named))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(1 + len(LINES + named))]
        log = server.communicate()[1].decode()
    by_id = Counter(answer.get("id") for answer in answers)
    assert by_id.pop(None) == len(LINES)
    assert by_id == Counter([1, *range(100, 100 + len(named))])
    codes = {answer["error"]["code"] for answer in answers if "error" in answer}
    assert codes <= {-32700, -32600, -32601, -32602}
    assert "Traceback" not in log


HALF = "ab \ud83d"
NEEDED: dict[str, dict[str, Any]] = {
    "find_citations": {"text": "Attention."}, "get_papers": {"ids": ["fx:1"]},
    "related_papers": {"id": "fx:1", "direction": "cites"}, "fill_document": {"path": "main.tex"},
    "add_entry": {"id": "fx:1", "bib": "refs.bib"}, "add_entries": {"ids": ["fx:1"], "bib": "refs.bib"},
}  # fmt: skip
"""Arguments without which a tool is not called."""
HALF_VALUES = {
    "string": (HALF, f"\\cite<{HALF}> @misc{{{HALF}, title={{{HALF}}}}}"),
    "array": ([HALF],), "object": ({HALF: HALF},),
}  # fmt: skip


def test_half_a_surrogate_pair_is_replaced_wherever_it_stands_over_http(
    env: dict[str, str], serving: Any, tmp_path: Path
) -> None:
    import httpx2

    (tmp_path / "main.tex").write_text(PAPER)
    (tmp_path / "refs.bib").write_text(BIB)
    log: list[str] = []
    session: dict[str, str] = {}
    with (
        serving(env, "--root", tmp_path, "--allow-write", log=log) as (address, _),
        httpx2.Client(headers=ACCEPT | {"Content-Type": "application/json"}, timeout=120) as http,
    ):

        def ask(method: str, params: dict[str, Any]) -> Any:
            body = {"jsonrpc": "2.0", "id": HALF, "method": method, "params": params}
            found = http.post(address, content=json.dumps(body), headers=session)
            assert found.status_code == 200, (params, found.text)
            *_, line = [one for one in found.text.splitlines() if one.startswith("data: {")]
            session.update({"mcp-session-id": found.headers["mcp-session-id"]})
            answer = json.loads(line.removeprefix("data: "))
            assert answer["id"] == "ab \ufffd"
            return answer

        client = {"name": HALF, "version": HALF}
        ask("initialize", CALL["params"] | {"clientInfo": client})
        for tool in ask("tools/list", {})["result"]["tools"]:
            for name, field in tool["inputSchema"]["properties"].items():
                for value in HALF_VALUES.get(field.get("type", "string"), ()):
                    arguments = NEEDED.get(tool["name"], {}) | {name: value}
                    params = {"name": tool["name"], "arguments": arguments}
                    assert ask("tools/call", params)["result"]["content"], params
        unknown = ask("tools/call", {"name": "get_papers", "arguments": {"ids": [HALF]}})
        assert unknown["result"]["structuredContent"]["unknown_ids"] == ["ab \ufffd"]
        for method, params in (
            (HALF, {}), ("tools/call", {"name": HALF}), ("prompts/get", {"name": HALF}),
            ("resources/read", {"uri": f"citewell://{HALF}"}),
        ):  # fmt: skip
            ask(method, params)
    assert "Traceback" not in "".join(log)


async def test_two_requests_with_one_id_are_both_answered_over_http(url: str) -> None:
    import httpx2

    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    searches = [
        {"name": "search_papers", "arguments": {"query": q}} for q in ("attention", "memory")
    ]
    async with httpx2.AsyncClient(headers=ACCEPT, timeout=120) as http:
        session = {"mcp-session-id": (await http.post(url, json=CALL)).headers["mcp-session-id"]}
        answers = await asyncio.gather(
            *(http.post(url, json=call | {"params": one}, headers=session) for one in searches * 3)
        )
    assert [answer.status_code for answer in answers] == [200] * 6
    assert all('"id":7' in answer.text and '"result"' in answer.text for answer in answers)
