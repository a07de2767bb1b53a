"""One writer at a time, among the clients of this server and the servers of this user.

Each agent on stdio has a server process of its own. Two that add to one .bib would both read it
before either writes, and the entry of the first would be lost: so the lock is one of the operating
system, which takes it back when its holder dies.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from filelock import FileLock

logger = logging.getLogger(__name__)

NAME = "mcp-write.lock"
STEP = 0.01
PATIENCE = 60.0


class WriteLock:
    """`with turns.take(cancel):` from reading a file to having written it."""

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self._path = folder / NAME
        self._patience = patience
        self._mine = threading.Lock()

    @contextmanager
    def take(self, cancel: Cancel) -> Iterator[None]:
        """Waits for its turn. Raises `Cancelled`, or `CitewellError` when it does not come."""
        limit = time.monotonic() + self._patience
        while not self._mine.acquire(timeout=STEP):
            _go_on(cancel, limit)
        try:
            lock = self._locked(cancel, limit)
            try:
                yield
            finally:
                if lock is not None:
                    lock.release()
        finally:
            self._mine.release()

    def _locked(self, cancel: Cancel, limit: float) -> FileLock | None:
        """None where there is no place for a lock: every write still compares before it writes."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._path, poll_interval=STEP, thread_local=False, fallback_to_soft=False)
        try:
            while True:
                try:
                    lock.acquire(timeout=STEP)
                    return lock
                except Timeout:
                    _go_on(cancel, limit)
        except OSError as error:
            logger.info("No lock in %s (%s).", self._path.parent, error.strerror)
            return None


def _go_on(cancel: Cancel, limit: float) -> None:
    cancel.check()
    if time.monotonic() > limit:
        raise CitewellError(
            Problem(
                "mcp-busy",
                "Another agent has been writing for a minute; nothing was written.",
                "Try again.",
            )
        )
