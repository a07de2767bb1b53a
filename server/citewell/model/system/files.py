"""Files that are replaced as a whole, by one writer at a time.

A reader sees the old content or the new, also after a crash. A lock keeps the processes and threads
of Citewell from writing one file at the same time.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Self

from citewell.model.problem import CitewellError, Problem

if TYPE_CHECKING:
    from filelock import FileLock


def write_atomically(path: Path, data: bytes | bytearray, *, mode: int | None = None) -> None:
    """Replace the content of a file, or create it. Raises `OSError`; the file is then as it was.

    A symbolic link stays a link, and the permissions stay; `mode` is that of a new file, by default
    according to the umask.
    """
    target = path.resolve()
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(target.stat().st_mode)
    temporary = stage(target, data, mode)
    try:
        replace_file(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def replace_file(temporary: Path, target: Path) -> None:
    """Rename a file over another one. Raises `OSError`. Windows refuses while a program reads the
    target, which lasts a moment."""
    for _ in range(50 if os.name == "nt" else 0):
        with suppress(PermissionError):
            temporary.replace(target)
            return
        time.sleep(0.02)
    temporary.replace(target)


def stage(target: Path, data: bytes | bytearray, mode: int | None = None) -> Path:
    """Write the data to a file beside the target, to be renamed over it, and flush it to disk.
    Raises `OSError`, and leaves nothing then."""
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(mode)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return temporary


logger = logging.getLogger(__name__)

LOCK_SECONDS = 20.0
"""Seconds that a writer waits for another one."""

_held: ContextVar[frozenset[Path]] = ContextVar("_held", default=frozenset())
"""The locks that the current context holds."""


class FileError(CitewellError):
    """A file that cannot be read or written; nothing on disk has changed."""


@contextmanager
def locked(paths: Iterable[Path]) -> Iterator[None]:
    """Lock these files against other processes and threads of Citewell.

    A context may lock a file twice. Raises `FileError` "file-busy" when another writer does not
    finish. Where a folder or file system takes no lock, nothing is locked.
    """
    held = _held.get()
    targets = (path.resolve() for path in paths)
    locks = {path.with_name(f".{path.name[:100]}.lock") for path in targets} - held
    with ExitStack() as stack:
        for lock in sorted(locks):
            stack.enter_context(_lock(lock))
        token = _held.set(held | locks)
        stack.callback(_held.reset, token)
        yield


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold an operating-system lock on a file that exists only meanwhile."""
    from filelock import FileLock

    descriptors: list[int] = []
    lock = FileLock(
        path,
        timeout=LOCK_SECONDS,
        poll_interval=0.005,
        thread_local=False,
        fallback_to_soft=False,
        on_acquired=descriptors.append,
    )
    if not _acquired(lock, path, descriptors):
        yield
        return
    try:
        yield
    finally:
        # A waiter on the removed file finds that it is gone, and creates it again. Windows cannot
        # remove an open file: neither this one yet, nor then another waiter's.
        with suppress(OSError):
            path.unlink()
        lock.release()
        if os.name == "nt":
            with suppress(OSError):
                path.unlink()


def _acquired(lock: FileLock, path: Path, descriptors: Sequence[int]) -> bool:
    """Wait for a lock; False if it cannot be created there. Raises `FileError`."""
    from filelock import Timeout

    try:
        # `FileLock` would create a missing folder.
        while path.parent.is_dir():
            lock.acquire()
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptors[-1]), path.stat()):
                    return True
            lock.release()
    except Timeout:
        name = path.name[1:].removesuffix(".lock")
        message = f"Another process of Citewell is writing {name}; nothing was written."
        raise FileError(Problem("file-busy", message, "Try again.", str(path))) from None
    except OSError as error:
        logger.info("No lock in %s (%s).", path.parent, error.strerror)
    return False


# A base class of objects that close when their `with` block ends.


class Closing(ABC):
    """A context manager that closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
