"""One writer per library: a lock that the operating system releases when its holder dies."""

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
"""Error numbers of file systems without locks."""


@contextmanager
def writer_lock(library: Path) -> Iterator[None]:
    """Hold the library's writer lock; raises `LibraryError` "library-locked" if it is taken.

    The lock belongs to the operating system, so a killed build leaves no stale lock file.
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
    """Write the holder's process into the lock file, after byte 0, which Windows locks."""
    os.write(descriptor, f"  {os.getpid()} on {socket.gethostname()}".encode())


def _holder(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(1)
            words = stream.read(200).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f" (process {words})" if words else ""
