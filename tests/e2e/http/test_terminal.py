"""What a person sees who starts a server at a terminal, and ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.mark.parametrize(
    "arguments", [("serve", "--port", "0"), ("mcp", "--http", "127.0.0.1:0")], ids=" ".join
)
def test_a_server_says_how_to_end_it_and_that_it_has_ended(
    env: dict[str, str], arguments: tuple[str, ...]
) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "citewell", *arguments]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    try:
        while b"Press Ctrl+C to stop." not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while b"Citewell stopped." not in seen:
            seen += os.read(ours, 4096)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"Stopping: requests in flight" in seen
    assert b"Traceback" not in seen
