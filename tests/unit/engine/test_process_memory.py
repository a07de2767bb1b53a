import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
from citewell.engine.processes import share_one_heap
if {share}:
    share_one_heap()
barrier = threading.Barrier(4)
def allocate():
    kept = [bytearray(2000) for _ in range(2000)]
    barrier.wait()
    del kept
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
out = ctypes.c_void_p.in_dll(libc, "stdout")
libc.malloc_info(0, out)
libc.fflush(out)
"""


def heaps(share):
    program = PROGRAM.format(share=share)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    if "malloc_info" in done.stderr or "in_dll" in done.stderr:
        pytest.skip("the allocator is not glibc's")
    assert done.returncode == 0, done.stderr
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no such heaps")
def test_threads_share_one_heap():
    assert heaps(share=False) > 1
    assert heaps(share=True) == 1
