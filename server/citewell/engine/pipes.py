"""A process's own pipes, taken away from everything else that runs in it."""

from __future__ import annotations

import os
import sys


def take_pipes() -> tuple[int, int]:
    """Private descriptors of what were stdin and stdout, both binary.

    Afterwards descriptor 0 is empty and 1 is stderr, so that a stray print of any library, or a
    child that reads, cannot touch the protocol.
    """
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink
