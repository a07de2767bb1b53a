"""An interrupt ends a pool of processes, at whatever moment of a start it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

POOL = """
import multiprocessing.popen_spawn_posix as popen
import sys

from citewell.model.system.child_process import process_pool

started = []

def interrupted(*arguments):
    start = spawn(*arguments)
    if any("spawn_main" in str(part) for part in arguments[1]):
        started.append(start)
        if len(started) == 2:
            raise KeyboardInterrupt
    return start

if __name__ == "__main__":
    spawn = popen.util.spawnv_passfds
    popen.util.spawnv_passfds = interrupted
    try:
        with process_pool(2, print, ()) as pool:
            for _ in range(50):
                pool.submit(len, b"x" * 100_000)  # more than a pipe holds
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="starts processes otherwise")
def test_a_pool_ends_when_the_start_of_a_process_is_interrupted(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(POOL, "utf-8")
    ended = subprocess.run([sys.executable, program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == 130
