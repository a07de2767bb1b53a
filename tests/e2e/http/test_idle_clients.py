"""Clients that connect and say nothing, or begin a request and do not end it: they hold no place."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

PATIENCE = 180.0
"""Seconds until a test gives up waiting; never what it measures."""


def head(host: str, *more: str) -> bytes:
    lines = ("POST /v1/search HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *more)
    return "\r\n".join(lines).encode()


def beginnings(host: str) -> dict[str, tuple[bytes, bytes]]:
    """What a client sends at once, and what again and again."""
    whole = head(host, "Content-Length: 9000") + b"\r\n\r\n"
    return {
        "nothing": (b"", b""),
        "a part of the first line": (b"POST /v1/se", b""),
        "a part of the headers": (head(host), b""),
        "headers without end": (head(host), b"\r\nX-More: 1"),
        "no body": (whole, b""),
        "a body without end": (whole, b" "),
        "a chunked body without end": (
            head(host, "Transfer-Encoding: chunked") + b"\r\n\r\n", b"1\r\n \r\n",
        ),
        "nothing more after an answer": (b"GET /v1/health HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode(), b""),
    }  # fmt: skip


def seconds_until_closed(address: tuple[str, int], first: bytes, again: bytes) -> float:
    """How long a connection is kept; `PATIENCE` for one that is not closed."""
    with socket.create_connection(address, timeout=PATIENCE) as opened:
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            opened.sendall(first)
            opened.settimeout(1.0)
            while (spent := time.monotonic() - begun) < PATIENCE:
                try:
                    if not opened.recv(65_536):
                        return spent
                except TimeoutError:
                    opened.sendall(again)
        return time.monotonic() - begun


@contextlib.contextmanager
def mcp(env: dict[str, str]) -> Iterator[str]:
    """An MCP server on HTTP; its address."""
    command = [sys.executable, "-m", "citewell", "mcp", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield line[line.index("http://") :].split("/mcp")[0]
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def test_connections_on_which_nothing_happens_are_closed(
    serving: Callable[..., Any], env: dict[str, str]
) -> None:
    kept: dict[str, float] = {}
    with serving(env) as (url, _), mcp(env) as other:
        threads = []
        for base in (url, other):
            host, _, port = base.removeprefix("http://").partition(":")
            for name, sent in beginnings(f"{host}:{port}").items():

                def hold(
                    name: str = f"{base} {name}", address: Any = (host, int(port)), sent: Any = sent
                ) -> None:
                    kept[name] = seconds_until_closed(address, *sent)

                threads.append(threading.Thread(target=hold))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE)
        late = {name: spent for name, spent in kept.items() if spent >= PATIENCE}
        assert len(kept) == len(threads) and not late
        assert httpx2.get(f"{url}/v1/health").status_code == 200


def test_a_request_that_comes_in_parts_is_answered(
    serving: Callable[..., Any], env: dict[str, str]
) -> None:
    with serving(env) as (url, _):
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as opened:
            body = b'{"query": "attention", "k": 1}'
            request = head(f"{host}:{port}", f"Content-Length: {len(body)}") + b"\r\n\r\n" + body
            for part in (request[:20], request[20:-5], request[-5:]):
                opened.sendall(part)
            assert opened.recv(65_536).startswith(b"HTTP/1.1 200")
