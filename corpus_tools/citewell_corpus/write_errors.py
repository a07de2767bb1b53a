"""Write errors of the system as problems: a full disk, a read-only folder."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.corpus.errors import library_error

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def reported_write_errors(path: Path) -> Iterator[None]:
    """Raise a `LibraryError` with a hint for a full disk or a read-only folder."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        name = error.filename if isinstance(error, OSError) else None
        where = Path(os.fsdecode(name)) if isinstance(name, (str, bytes)) else path
        if _is_full(error):
            message = "The disk is full; the library is unchanged."
            raise library_error("library-disk-full", message, where) from error
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        message = f"The library cannot be written: {reason}."
        raise library_error("library-unwritable", message, where) from error


@contextmanager
def free_when_full(staging: Path) -> Iterator[None]:
    """Delete the staging area if the disk is full."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        if _is_full(error):
            shutil.rmtree(staging, ignore_errors=True)
        raise


def _is_full(error: OSError | sqlite3.OperationalError) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    # SQLite reports a write that failed for lack of space as an I/O error.
    return "full" in str(error) or "disk I/O" in str(error)
