"""Telling whether a file on disk has changed."""

from __future__ import annotations

from pathlib import Path


def read_file_version(path: Path) -> object:
    """What changes when a file on disk changes; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def is_empty(path: Path) -> bool:
    """True for a file that is there and holds nothing yet."""
    try:
        return path.stat().st_size == 0
    except OSError:
        return False
