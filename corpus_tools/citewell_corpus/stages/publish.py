"""The last stages of a build: indexes sealed segments, and publishes them as a snapshot."""

from __future__ import annotations

import datetime
import errno
import logging
import os
import pickle
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citewell import __version__
from citewell.corpus.catalogue import Catalogue
from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.layout import (
    CATALOGUE,
    CURRENT,
    LOCK,
    MANIFEST,
    IndexBuilder,
    Manifest,
    SegmentRecord,
    SegmentUse,
    current_snapshot,
    dead_file,
    file_digest,
    quarantine_file,
    read_manifest,
    snapshot_id,
)
from citewell.model import Work
from citewell.options import Options
from citewell_corpus.processes import Progress, Report, run_tasks
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


# The third stage of a build: the indexes of a segment.


def default_builders(options: Options) -> list[IndexBuilder]:
    """The index builders of the retrievers enabled in the settings."""
    from citewell.corpus.columns import ColumnsBuilder
    from citewell.corpus.volumes import VolumesBuilder
    from citewell.retrieval import registry
    from citewell.retrieval.facets import FacetsBuilder

    return [ColumnsBuilder(), FacetsBuilder(), VolumesBuilder(), *registry.builders(options)]


def build_indexes(
    folder: Path,
    count: int,
    builders: Sequence[IndexBuilder],
    markers: Path,
    progress: Progress,
    jobs: int = 1,
) -> None:
    """Build the indexes that are not marked as finished, from the segment's catalogue.

    With several `jobs`, an index whose builder can be pickled is built by a process of its own.
    """
    waiting = [one for one in builders if not _marker(markers, folder, one.name).is_file()]
    apart = [one for one in waiting if _can_be_pickled(one)] if min(jobs, len(waiting)) > 1 else []
    tasks = [partial(_build_index, folder, count, one, markers) for one in apart]

    def build_here() -> None:
        for builder in waiting:
            if builder not in apart:
                progress.stage(f"Index: {builder.name}", count)
                _build_index(folder, count, builder, markers, progress.advance)

    if not tasks:
        build_here()
        return
    if len(apart) == len(waiting):
        progress.stage(f"Index: {', '.join(one.name for one in apart)}", count * len(apart))
        run_tasks(tasks, jobs, progress.advance)
    else:
        run_tasks(tasks, max(1, jobs - 1), lambda steps: None, build_here)


def _build_index(
    folder: Path, count: int, builder: IndexBuilder, markers: Path, report: Report
) -> None:
    catalogue = Catalogue(folder / CATALOGUE, count)

    def works() -> Iterator[Work]:
        return (work for _, work in catalogue.iterate())

    try:
        into = folder / builder.name
        if not into.is_dir():
            into.mkdir()
        builder.build(works, count, into, report)
        write_whole(_marker(markers, folder, builder.name), b"done\n")
    finally:
        catalogue.close()


def _can_be_pickled(builder: IndexBuilder) -> bool:
    """False for the builder of a loaded encoder."""
    try:
        pickle.dumps(builder)
    except (TypeError, AttributeError, pickle.PicklingError):
        return False
    return True


def link_segment(
    segment: Path,
    folder: Path,
    record: SegmentRecord,
    indexes: Mapping[str, Mapping[str, Any]],
    markers: Path,
) -> None:
    """Copy a segment with its current indexes into `folder`, as hard links if possible.

    They are marked as finished: rebuilding one would write into a segment in use. Markers of an
    earlier, incomplete copy are kept.
    """
    good = {name for name in record.indexes if record.indexes[name] == indexes.get(name)}
    stale = record.indexes.keys() - good
    for name in record.files:
        index = name.partition("/")[0]
        if index in stale:
            continue
        target = folder / name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(segment / name, target)
        except OSError:
            # Another file system, or one without links.
            shutil.copy2(segment / name, target)
    for name in sorted(good):
        write_whole(_marker(markers, folder, name), b"done\n")


def _marker(markers: Path, folder: Path, index: str) -> Path:
    """The marker file of a finished index."""
    return markers / f"{folder.name}.{index}.done"
