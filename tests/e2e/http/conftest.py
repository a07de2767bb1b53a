"""The server as a program starts it: a process, and the libraries that it is asked about."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TOKEN = "a-token"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the extra there is nothing to test here."""
    import importlib.util

    return True if importlib.util.find_spec("starlette") is None else None


@contextlib.contextmanager
def server(
    env: dict[str, str], *arguments: str | Path, token: str = ""
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server on a free port of this machine: its address and its process."""
    given = {"CITEWELL_HTTP_TOKEN": token} if token else {}
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0", *map(str, arguments)]
    # A group of its own: a signal that a test sends must not end the tests.
    alone: dict[str, Any] = (
        {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    process = subprocess.Popen(
        command, env=env | given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **alone
    )
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []
    # Nobody may wait because a pipe that nobody reads is full.
    reader = threading.Thread(target=lambda: lines.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        line = process.stdout.readline()
        if not line:
            process.wait(timeout=180)
            reader.join(60)
            raise AssertionError(f"the server ended: {lines}")
        ready = json.loads(line)
        yield ready["url"], process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=180)
        process.stdout.close()


@pytest.fixture(scope="session")
def serving() -> Callable[..., Any]:
    """`with serving(env, "--allow-origin", page, token="") as (url, process)`."""
    return server


@pytest.fixture(scope="session")
def url(env: dict[str, str]) -> Iterator[str]:
    """A server without a token, on the library of the fixtures."""
    with server(env) as (address, _):
        yield address
