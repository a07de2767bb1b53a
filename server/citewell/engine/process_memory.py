"""The resident memory of this process, and how to limit it, without dependencies."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

_TRIM_THRESHOLD, _ARENA_MAX = -1, -8
"""Parameters of glibc's `mallopt`."""
_FREE_AT_END = 128 * 1024


def rss_mb() -> float:
    """Resident set size in MB; its peak if only that is known (macOS); 0 if unknown (Windows)."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return _peak_mb()
    import resource

    return int(pages) * resource.getpagesize() / 1e6


def _peak_mb() -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def share_one_heap() -> None:
    """Let all threads started from now on allocate from the existing heaps, and return free memory.
    By default, glibc keeps a heap for each thread, and memory freed by one thread is unavailable to
    others. No effect on other systems."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_END)


# Memory that Python has freed and the C library still holds.


def trim_heap() -> None:
    """Give freed memory back to the system.

    With glibc, memory freed by a large job stays in the process, scattered between live objects: a
    tenth of a server that has checked 20,000 entries. Takes a few milliseconds, without the
    interpreter lock. Does nothing where the C library has no `malloc_trim`.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None)
