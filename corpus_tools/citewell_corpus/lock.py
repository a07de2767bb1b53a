"""One writer per library: a lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from citewell.corpus.errors import library_error
from citewell.corpus.layout import LOCK

_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}


@contextmanager
def writer_lock(library: Path) -> Iterator[None]:
    """Hold the library's writer lock; raises `LibraryError` "library-locked" if another has it.

    A lock of the operating system and not a file that exists or not: a build that is killed leaves
    nothing behind that would have to be recognised as stale.
    """
    path = library / LOCK
    try:
        stream = path.open("a+b")
    except OSError as error:
        message = f"The library cannot be written: {error.strerror or error}."
        raise library_error("library-unwritable", message, library) from None
    with stream:
        try:
            _acquire(stream)
        except OSError as error:
            if error.errno not in _HELD:
                message = f"The library cannot be locked: {error.strerror or error}."
                raise library_error("library-unwritable", message, library) from None
            holder = _holder(stream)
            message = f"Another build is at work in this library{holder}."
            raise library_error("library-locked", message, library) from None
        try:
            stream.seek(1)
            stream.truncate()
            stream.write(f" {os.getpid()} on {socket.gethostname()}".encode())
            stream.flush()
            yield
        finally:
            _release(stream)


def _holder(stream: BinaryIO) -> str:
    try:
        stream.seek(1)
        words = stream.read(200).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f" (process {words})" if words else ""


# Windows locks bytes: byte 0 is the lock, the holder's name stands behind it and stays readable.
if sys.platform == "win32":
    import msvcrt

    def _acquire(stream: BinaryIO) -> None:
        stream.seek(0)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)

    def _release(stream: BinaryIO) -> None:
        stream.seek(0)
        msvcrt.locking(stream.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _acquire(stream: BinaryIO) -> None:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(stream: BinaryIO) -> None:
        fcntl.flock(stream.fileno(), fcntl.LOCK_UN)
