"""Threads that import modules of one package at the same time all get them.

A package whose `__init__` imports its own modules makes such threads wait for each other, and
Python then raises `_DeadlockError` in one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).resolve().parents[2] / "server"
ROUNDS = 50

# Each round forks a process in which the package has not been imported yet.
IMPORTS = """
import importlib, os, sys, threading
import msgspec, numpy, zstandard
rounds, *names = sys.argv[1:]
sys.setswitchinterval(1e-5)

def import_all():
    ready, errors = threading.Barrier(len(names)), []
    def import_one(name):
        ready.wait()
        try:
            importlib.import_module(name)
        except BaseException as error:
            errors.append(f"{name}: {error!r}")
    threads = [threading.Thread(target=import_one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors

for _ in range(int(rounds)):
    child = os.fork()
    if not child:
        errors = import_all()
        os.write(1, "".join(f"{error}\\n" for error in errors[:3]).encode())
        os._exit(bool(errors))
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.nightly
@pytest.mark.parametrize("package", ["corpus", "documents", "retrieval"])
def test_threads_import_the_modules_of_a_package_at_the_same_time(package: str) -> None:
    paths = sorted((SERVER / "citewell" / package).rglob("*.py"))
    names = [".".join(path.relative_to(SERVER).with_suffix("").parts) for path in paths]
    names = [name.removesuffix(".__init__") for name in names]
    assert len(names) > 10
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(ROUNDS), *names],
        # A process with other threads is not to be forked.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
