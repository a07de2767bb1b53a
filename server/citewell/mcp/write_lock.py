"""One writer at a time, among the clients of this server and the servers of this user.

Each agent on stdio has a server process of its own. Two that add to one .bib would both read it
before either writes, and the entry of the first would be lost: so the lock is one of the operating
system, which takes it back when its holder dies.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel

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
            with contextlib.ExitStack() as stack:
                stream = self._open()
                if stream is not None:
                    stack.enter_context(stream)
                    while not _acquire(stream):
                        _go_on(cancel, limit)
                        time.sleep(STEP)
                    stack.callback(_release, stream)
                yield
        finally:
            self._mine.release()

    def _open(self) -> BinaryIO | None:
        """None where there is no place for a lock: every write still compares before it writes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return self._path.open("a+b")
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


if sys.platform == "win32":
    import msvcrt

    def _acquire(stream: BinaryIO) -> bool:
        stream.seek(0)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(stream: BinaryIO) -> None:
        stream.seek(0)
        msvcrt.locking(stream.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _acquire(stream: BinaryIO) -> bool:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: as if there were no other process
            return True
        return True

    def _release(stream: BinaryIO) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(stream.fileno(), fcntl.LOCK_UN)
