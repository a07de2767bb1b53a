"""One writer per library: a lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.corpus.errors import library_error
from citewell.corpus.layout import LOCK

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What a file system without locks answers."""


@contextmanager
def writer_lock(library: Path) -> Iterator[None]:
    """Hold the library's writer lock; raises `LibraryError` "library-locked" if another has it.

    A lock of the operating system and not a file that exists or not: a build that is killed leaves
    nothing behind that would have to be recognised as stale.
    """
    from filelock import FileLock, Timeout

    path = library / LOCK
    # It would make the folder, and take the existence of a file for a lock where there are none.
    lock = FileLock(path, timeout=0, fallback_to_soft=False, on_acquired=_sign)
    try:
        path.touch()
        lock.acquire()
    except Timeout:
        message = f"Another build is running in this library{_holder(path)}."
        raise library_error("library-locked", message, library) from None
    except OSError as error:
        act = "locked" if error.errno in _NO_LOCKS else "written"
        message = f"The library cannot be {act}: {error.strerror or error}."
        raise library_error("library-unwritable", message, library) from None
    try:
        yield
    finally:
        lock.release()


def _sign(descriptor: int) -> None:
    """Say who holds the lock. Windows locks byte 0; what stands behind it can be read."""
    os.write(descriptor, f"  {os.getpid()} on {socket.gethostname()}".encode())


def _holder(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(1)
            words = stream.read(200).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f" (process {words})" if words else ""
