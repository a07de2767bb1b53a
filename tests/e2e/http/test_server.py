"""The server as a program starts it: its life, who is let in, many clients, and lost ones."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from citewell.http.reading import MAX_BODY

TOKEN = "a-token"
JSON = {"Content-Type": "application/json"}


def post(url: str, path: str, body: dict[str, Any], **how: Any) -> Any:
    found = httpx2.post(url + path, json=body, timeout=300, **how)
    assert found.status_code == 200, found.text
    return found.json()


def test_several_queries_of_one_request_are_answered_in_order(url: str) -> None:
    texts = ["attention is all you need", "deep residual learning"]
    places = post(url, "/v1/find", {"queries": texts, "k": 1})["places"]
    alone = [post(url, "/v1/find", {"queries": [one], "k": 1})["places"][0] for one in texts]
    assert [one["papers"][0]["id"] for one in places] == [one["papers"][0]["id"] for one in alone]
    assert places[0]["papers"][0]["title"] == "Attention Is All You Need"


ENDS = (
    [signal.CTRL_BREAK_EVENT] if sys.platform == "win32" else [signal.SIGINT, signal.SIGTERM]
)  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_a_signal_ends_it_in_order(serving: Any, env: dict[str, str], how: int) -> None:
    with serving(env) as (url, process):
        assert post(url, "/v1/search", {"query": "attention"})["status"] == "found"
        family = psutil.Process(process.pid).children(recursive=True)
        assert family
        process.send_signal(how)
        assert process.wait(timeout=60) == 0
        assert not psutil.wait_procs(family, timeout=60)[1]


def test_a_request_in_flight_is_answered_before_the_end(serving: Any, env: dict[str, str]) -> None:
    with serving(env) as (url, process):
        host, _, port = url.removeprefix("http://").partition(":")
        body = json.dumps({"query": "attention", "k": 1}).encode()
        head = (
            f"POST /v1/search HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=180) as connection:
            connection.sendall(head.encode() + body[:5])
            # The server has begun to read: it is inside of the request, and answers another.
            assert httpx2.get(f"{url}/v1/health", timeout=60).status_code == 200
            if sys.platform == "win32":
                process.send_signal(signal.CTRL_BREAK_EVENT)
            else:
                process.send_signal(signal.SIGTERM)
            connection.sendall(body[5:])
            answer = b""
            while part := connection.recv(65536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200") and b'"status":"found"' in answer
        assert process.wait(timeout=60) == 0


def test_what_takes_longer_than_the_end_may_is_given_up(serving: Any, env: dict[str, str]) -> None:
    places = "".join(f"Thing {n} is known \\cite<graph networks {n}>.\n" for n in range(1_000))
    with serving(env) as (url, process):
        assert post(url, "/v1/search", {"query": "attention"})["status"] == "found"
        family = psutil.Process(process.pid).children(recursive=True)
        begin = sum(family[0].cpu_times()[:2])

        responses: list[Any] = []

        def ask() -> None:
            with contextlib.suppress(httpx2.HTTPError):
                responses.append(httpx2.post(f"{url}/v1/fill", json={"text": places}, timeout=300))

        # Together more than any machine does in the time that the end may take.
        asking = [threading.Thread(target=ask) for _ in range(4)]
        for one in asking:
            one.start()
        while sum(family[0].cpu_times()[:2]) - begin < 0.3:
            time.sleep(0.05)
        process.send_signal(ENDS[-1])
        assert process.wait(timeout=120) == 0
        for one in asking:
            one.join(60)
        # A connection may be gone before its client could be told.
        given_up = [found.json()["code"] for found in responses if found.status_code != 200]
        assert len(responses) - len(given_up) < 4 and set(given_up) <= {"server-ending"}
        assert not psutil.wait_procs(family, timeout=60)[1]


def test_the_line_that_tells_the_address_is_the_only_one(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["pid"] == process.pid
        assert httpx2.get(ready["url"] + "/v1/health", timeout=60).status_code == 200
        process.terminate()
        assert process.stdout.read() == ""


def listening(process: psutil.Process) -> set[str]:
    return {
        connection.laddr.ip
        for one in (process, *process.children(recursive=True))
        for connection in one.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
    }


def test_only_this_machine_and_who_has_the_token_is_let_in(
    serving: Any, env: dict[str, str]
) -> None:
    page = "http://localhost:3000"
    with serving(env, "--allow-origin", page, token=TOKEN) as (url, process):
        assert listening(psutil.Process(process.pid)) == {"127.0.0.1"}
        admitted = {"Authorization": f"Bearer {TOKEN}"}
        for headers, status in (
            ({}, 200),
            ({"Authorization": ""}, 401),
            ({"Authorization": "Bearer a-token-and-more"}, 401),
            ({"Host": "evil.example"}, 421),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Origin": page}, 200),
        ):
            found = httpx2.post(
                url + "/v1/search", json={"query": "attention"}, headers=admitted | headers,
                timeout=120,
            )  # fmt: skip
            assert found.status_code == status, (headers, found.text)
            if status != 200:
                assert found.headers["content-type"] == "application/problem+json"
        assert found.headers["access-control-allow-origin"] == page


def test_a_token_in_a_file_is_asked_for(serving: Any, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-file\n")
    with serving(env, "--token-file", tmp_path / "token", token=TOKEN) as (url, _):
        for token, status in ((TOKEN, 401), ("of-the-file", 200)):
            headers = {"Authorization": f"Bearer {token}"}
            assert (
                httpx2.get(f"{url}/v1/health", headers=headers, timeout=120).status_code == status
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "CITEWELL_HTTP_TOKEN"),
        (["--token-file", "no-such-file"], "no-such-file"),
        (["--port", "99999"], "99999"),
    ],
)
def test_what_would_be_unsafe_does_not_start(
    env: dict[str, str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "citewell", "serve", "--port", "0", *arguments],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 2 and message in run.stderr and run.stdout == ""


def test_a_body_that_is_too_large_is_refused_and_the_next_request_answered(url: str) -> None:
    body = b'{"query": "' + b"x" * MAX_BODY + b'"}'
    found = httpx2.post(f"{url}/v1/search", content=body, headers=JSON, timeout=120)
    assert found.status_code == 413 and found.json()["code"] == "request-too-large"
    assert post(url, "/v1/search", {"query": "attention"})["status"] == "found"


@pytest.mark.parametrize(
    "path",
    ["/../../../../etc/passwd", "/v1/../../etc/passwd", "/v1/papers/../../../etc/passwd",
     "/v1/papers/..%2f..%2f..%2fetc%2fpasswd", "/problems/..%2f..%2fREADME", "//etc/passwd",
     "/v1/papers/%00", "/v1/papers/fx%3A1%0d%0aX-Injected:%20yes"],
)  # fmt: skip
def test_no_address_is_a_file(url: str, path: str) -> None:
    """Sent as it stands: a client library would tidy it first."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=180) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 404"), answer[:200]
    assert b"application/problem+json" in answer
    assert b"root:" not in answer and b"\r\nX-Injected" not in answer


async def test_sixteen_clients_at_once_get_each_their_answer(url: str) -> None:
    queries = {"graph attention networks": "fx:5", "deep residual learning": "fx:20",
             "long short-term memory": "fx:8", "attention is all you need": "fx:1"}  # fmt: skip
    titles = {
        query: post(url, "/v1/search", {"query": query, "k": 1})["papers"][0]["title"]
        for query in queries
    }
    assert len(set(titles.values())) == 4

    async def ask(number: int) -> None:
        query = list(queries)[number % 4]
        async with httpx2.AsyncClient(base_url=url, timeout=300) as client:
            for _ in range(8):
                found = await client.post("/v1/search", json={"query": query, "k": 1})
                assert found.status_code == 200, found.text
                assert found.json()["papers"][0]["title"] == titles[query]

    await asyncio.gather(*(ask(number) for number in range(16)))
