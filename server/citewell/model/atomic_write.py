"""Files that are replaced whole: a reader sees the old content or the new, also after a crash."""

from __future__ import annotations

import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the content of a file, or create it. Raises `OSError`; the file is then as it was.

    A symbolic link stays a link, and the permissions stay; `mode` is that of a new file, by
    default what the user's umask leaves.
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
    """Rename a file over another one. Raises `OSError`.

    Windows refuses while a program reads the target, which lasts a moment.
    """
    for _ in range(50 if os.name == "nt" else 0):
        with suppress(PermissionError):
            temporary.replace(target)
            return
        time.sleep(0.02)
    temporary.replace(target)


def stage(target: Path, data: bytes, mode: int | None = None) -> Path:
    """A file beside the target that holds the data, flushed to the disk, to be renamed over it.
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
