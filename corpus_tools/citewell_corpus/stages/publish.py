"""The last stage of a build: publishes sealed segments as a snapshot named in CURRENT."""

from __future__ import annotations

import datetime
import errno
import logging
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from citewell import __version__
from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.layout import (
    CURRENT,
    LOCK,
    MANIFEST,
    Manifest,
    SegmentUse,
    current_snapshot,
    dead_file,
    file_digest,
    quarantine_file,
    read_manifest,
    snapshot_id,
)
from citewell_corpus.segment_writer import flush, write_whole

_log = logging.getLogger(__name__)


class NewUse(msgspec.Struct, frozen=True):
    """A segment of the new snapshot; `dead` and `quarantined` list all those rows, ascending."""

    id: str
    count: int
    record: str
    dead: list[int]
    quarantined: list[int] = []


def now() -> str:
    """The current time, ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0).isoformat()


def publish(library: Path, manifest: Manifest, uses: Iterable[NewUse]) -> str:
    """Write the snapshot and swap CURRENT to it by one rename; returns the snapshot's id.

    `manifest` is passed without segments, number of works and date. If killed before the rename,
    the library is unchanged.
    """
    scratch = library / "staging" / "snapshot"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    segments = []
    for use in uses:
        segments.append(
            SegmentUse(
                id=use.id,
                count=use.count,
                dead=len(use.dead),
                record=use.record,
                dead_hash=_write_rows(scratch / dead_file(use.id), use.dead),
                quarantined=len(use.quarantined),
                quarantine_hash=_write_rows(scratch / quarantine_file(use.id), use.quarantined),
            )
        )
    data = msgspec.json.format(
        msgspec.json.encode(
            msgspec.structs.replace(
                manifest,
                segments=tuple(segments),
                works=sum(use.count - use.dead for use in segments),
                created=now(),
                citewell=__version__,
            )
        ),
        indent=1,
    )
    snapshot = snapshot_id(next_number(library), data)
    write_whole(scratch / MANIFEST, data)
    (library / "snapshots").mkdir(exist_ok=True)
    scratch.replace(library / "snapshots" / snapshot)
    write_whole(library / CURRENT, f"{snapshot}\n".encode("ascii"))
    return snapshot


def _write_rows(path: Path, rows: list[int]) -> str:
    """Write the rows, flushed to disk; return the hash of the file, empty without rows."""
    if not rows:
        return ""
    with path.open("wb") as stream:
        np.save(stream, np.array(rows, "<i4"), allow_pickle=False)
    flush(path)
    return file_digest(path)


def next_number(library: Path) -> int:
    """Number for the next snapshot and its segments, above all in use."""
    names = [
        path.name
        for folder in ("snapshots", "segments")
        if (library / folder).is_dir()
        for path in (library / folder).iterdir()
    ]
    numbers = [int(name[:6]) for name in names if name[:6].isdigit()]
    return max(numbers, default=0) + 1


def collect_garbage(library: Path) -> None:
    """Delete all snapshots but the current and the previous one, and segments that neither uses.

    The previous one is kept for readers that have it open. On Windows, files in use are kept until
    the next build.
    """
    snapshot = current_snapshot(library)
    kept = {snapshot, read_manifest(library, snapshot).previous}
    used: set[str] = set()
    for name in kept - {""}:
        try:
            manifest = read_manifest(library, name)
            used.update(use.id for use in manifest.segments)
            used.update(source.citing.id for source in manifest.sources.values() if source.citing)
        except LibraryError:
            _log.warning("the snapshot %s cannot be read and is dropped", name)
            if name == snapshot:
                return
    for folder, names in (("snapshots", kept), ("segments", used)):
        for path in (library / folder).glob("*"):
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


# One writer per library: a lock that the operating system releases when its holder dies.

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Error numbers of file systems without locks."""


@contextmanager
def writer_lock(library: Path) -> Iterator[None]:
    """Hold the library's writer lock; raises `LibraryError` "library-locked" if it is taken.

    The lock belongs to the operating system, so a killed build leaves no stale lock file.
    """
    from filelock import FileLock, Timeout

    path = library / LOCK
    # FileLock would create the folder, and where there are no locks take an existing file for one.
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
