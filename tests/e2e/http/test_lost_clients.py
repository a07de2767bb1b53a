"""Clients that vanish in the middle: their work ends, and the others are answered."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import psutil
import pytest

REFERENCES = [
    f"@article{{k{n}, title={{Unheard of Thing Number {n} in Teacups of Porcelain}}, "
    f"author={{Roe, Jo and Doe, Jan}}, year={{{1980 + n % 40}}}}}\n"
    for n in range(6000)
]
PLACES = "".join(f"Thing {n} is known \\cite<graph networks {n}>.\n" for n in range(400))
LONG = {"/v1/check": {"text": "".join(REFERENCES)}, "/v1/fill": {"text": PLACES}}
PATIENCE = 120.0
"""Seconds until a test gives up waiting; never what it measures."""


def cpu_of(process: psutil.Process) -> float:
    """Seconds of the processor that a server and its engine have used, whatever else ran."""
    return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))


def wait_until(condition: Any) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.05)


@contextlib.contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as opened:
        yield opened


def head_of(url: str, path: str, length: int) -> bytes:
    host = url.removeprefix("http://")
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def found(url: str) -> str:
    body = {"query": "graph attention networks", "k": 1}
    answer = httpx2.post(f"{url}/v1/search", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["papers"][0]["id"])


@pytest.mark.parametrize("path", LONG)
def test_the_work_of_a_client_that_vanishes_ends(
    serving: Any, env: dict[str, str], path: str
) -> None:
    """By the processor's time: an eighth of the work is measured whole, then all of it is begun and
    left alone; had it gone on, it would have cost several times of that."""
    eighth = {
        "/v1/check": {"text": "".join(REFERENCES[:750])},
        "/v1/fill": {"text": "".join(PLACES.splitlines(keepends=True)[:50])},
    }
    with serving(env) as (url, server):
        process = psutil.Process(server.pid)
        assert found(url) == "fx:5"
        httpx2.post(url + path, json={**eighth[path]}, timeout=PATIENCE).raise_for_status()
        begin = cpu_of(process)
        httpx2.post(url + path, json={**eighth[path]}, timeout=PATIENCE).raise_for_status()
        part = cpu_of(process) - begin
        begin = cpu_of(process)
        body = json.dumps(LONG[path]).encode()
        with connection(url) as gone:
            gone.sendall(head_of(url, path, len(body)) + body)
            wait_until(lambda: cpu_of(process) - begin > part)
        # It rests: a whole eighth of the work could have been done in the time of this search.
        assert found(url) == "fx:5"

        def rests() -> bool:
            before = cpu_of(process)
            time.sleep(1.0)
            return cpu_of(process) - before < 0.05

        wait_until(rests)
        spent = cpu_of(process) - begin
        print(f"{path}: {spent / part:.1f} eighths of the work")
        assert spent < 6 * part
        assert found(url) == "fx:5"


def test_a_client_that_vanishes_before_its_request_is_whole_costs_nothing(
    serving: Any, env: dict[str, str]
) -> None:
    with serving(env) as (url, server):
        for _ in range(20):
            with connection(url) as gone:
                gone.sendall(head_of(url, "/v1/search", 1000) + b'{"query": ')
        assert found(url) == "fx:5"
        process = psutil.Process(server.pid)
        own = url.rpartition(":")[2]

        def left() -> list[Any]:
            # The end of a connection that the server has not heard of yet.
            return [
                one for one in process.net_connections(kind="tcp")
                if one.laddr.port == int(own) and one.status != psutil.CONN_LISTEN
            ]  # fmt: skip

        wait_until(lambda: not left())


def test_an_engine_that_dies_is_an_error_and_starts_anew(serving: Any, env: dict[str, str]) -> None:
    with serving(env) as (url, server):
        assert found(url) == "fx:5"
        process = psutil.Process(server.pid)
        begin = cpu_of(process)
        answers: list[Any] = []

        def ask() -> None:
            response = httpx2.post(f"{url}/v1/check", json=LONG["/v1/check"], timeout=PATIENCE)
            answers.append((response.status_code, response.json().get("code")))

        asking = threading.Thread(target=ask)
        asking.start()
        (engine,) = process.children()
        wait_until(lambda: cpu_of(process) - begin > 0.5)
        engine.kill()
        asking.join(PATIENCE)
        # Between two slices of the work its end is not even noticed: another takes the next one.
        assert answers in ([(503, "engine-restarted")], [(200, None)])
        assert found(url) == "fx:5"
