"""One writer at a time among the servers of a user."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from citewell.mcp.write_lock import WriteLock
from citewell.model import CitewellError
from citewell.model.cancel import Cancel, Cancelled

HOLD = """
import sys, time
from pathlib import Path
from citewell.mcp.write_lock import WriteLock
from citewell.model.cancel import Cancel
with WriteLock(Path(sys.argv[1])).take(Cancel()):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_writer_waits_for_another_process_and_follows_one_that_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(CitewellError) as caught, WriteLock(tmp_path, 0.2).take(Cancel()):
            pytest.fail("two writers")
        assert caught.value.problem.code == "mcp-busy"
        cancel = Cancel()
        threading.Timer(0.1, cancel.set).start()
        with pytest.raises(Cancelled), WriteLock(tmp_path).take(cancel):
            pytest.fail("two writers")
        other.kill()
    with WriteLock(tmp_path, 5).take(Cancel()):
        assert (tmp_path / "mcp-write.lock").exists()


def test_threads_of_one_server_take_turns(tmp_path: Path) -> None:
    lock, inside, most = WriteLock(tmp_path), [0], [0]

    def write() -> None:
        for _ in range(20):
            with lock.take(Cancel()):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], inside[0]) == (1, 0)


def test_without_a_place_for_the_lock_a_writer_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with WriteLock(tmp_path / "file", 0.2).take(Cancel()):
        pass
