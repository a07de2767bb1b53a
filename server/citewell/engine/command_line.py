"""Command lines and environments of an engine's child processes."""

from __future__ import annotations

import os
import sys

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
