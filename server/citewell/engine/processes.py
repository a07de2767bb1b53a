"""Command lines, environments and memory of the engine's processes."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from citewell.options import Options
from citewell.options.folders import CACHE_VARIABLE, DATA_VARIABLE, cache_folder, data_folder


def worker_command() -> tuple[str, ...]:
    """The command that starts a worker.

    `-P` keeps the working directory, which may be an untrusted project, off the import path.
    """
    return (sys.executable, "-P", "-m", "citewell.engine.worker")


def worker_environment() -> dict[str, str]:
    """The parent's environment with limits for native thread pools.

    A pool that spins while idle, or that takes every core, makes the editor stutter. The user's own
    values stay.
    """
    threads = str(max(1, min(4, (os.cpu_count() or 2) // 2)))
    # OpenBLAS spins between its short products: a second thread doubled a search's processor time.
    defaults = {
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": threads,
        "NUMBA_NUM_THREADS": threads,
        # One heap for all threads (glibc): each heap keeps the arrays freed by its thread.
        "MALLOC_ARENA_MAX": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUTF8": "1",
        # Finding them takes a child 4 ms, and its parent knows them.
        DATA_VARIABLE: str(data_folder()),
        CACHE_VARIABLE: str(cache_folder()),
    }
    return {**defaults, **os.environ}


def command_line(options: Options, **changes: str) -> list[str]:
    """The start of a command line of Citewell with an engine's settings, without subcommand and
    arguments.

    `changes` replace settings of the section `library`. The child also reads the user's settings,
    with those of the library, the sources and its indexes taken from `options`. No key is passed.
    """
    library, sources, retrieval = options.library, options.sources, options.retrieval
    settings = {
        "library.path": str(library.path or ""),
        "library.name": library.name,
        **{f"library.{name}": value for name, value in changes.items()},
        "sources.allow": ",".join(sources.allow),
        "sources.contact": sources.contact,
        "sources.base_url": sources.base_url,
        "sources.timeout_s": str(sources.timeout_s),
        "retrieval.encoders": ",".join(retrieval.encoders),
        "retrieval.bm25": str(retrieval.bm25).lower(),
        "retrieval.dense": str(retrieval.dense).lower(),
    }
    given = (f"{name}={value}" for name, value in settings.items() if value)
    flags = [part for one in given for part in ("--set", one)]
    return [sys.executable, "-P", "-m", "citewell", "-q", *flags]


# The resident memory of this process, and how to limit it, without dependencies.

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
