"""Resident memory of this process: its size, and how to keep it small. Without a dependency."""

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
    """Have all threads that start from now on allocate from the heaps that exist, and give free
    memory back. By default, glibc keeps a heap for each thread, and what one thread has freed no
    other can use. Elsewhere nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_END)


# Memory that Python has freed and that the C library still holds.


def trim_heap() -> None:
    """Give freed memory back to the system.

    With glibc, what a large job frees stays in the process, scattered between objects that live
    on: a tenth of a server that has checked 20,000 entries. Takes a few milliseconds, without the
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
