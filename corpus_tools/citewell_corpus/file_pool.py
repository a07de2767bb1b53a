"""Reads the files of a pattern, several at a time; each finished file survives a kill.

A file is read into a folder named after the process, which is renamed when it is complete: what a
process of a killed build still writes is never taken for a finished file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from citewell.corpus.errors import MissingPackageError
from citewell.model import CitewellError, Problem
from citewell_corpus.importers import importer_named
from citewell_corpus.importers.files import opened
from citewell_corpus.processes import Report, run_tasks
from citewell_corpus.read_records import ImportedSource, read_records
from citewell_corpus.segment_writer import write_whole
from citewell_corpus.sources import FileSource

_DONE = "read.json"
_HEAD = 1 << 16


def read_files(
    folder: Path, name: str, source: FileSource, files: Sequence[Path], jobs: int, on_bytes: Report
) -> list[tuple[Path, ImportedSource]]:
    """The folder and the counts of each file, in order; those of an earlier run are not reread.

    Raises `LibraryError` "build-process-died" if a process ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / f"part-{number:06d}" for number in range(len(files))]
    for left in folder.glob("part-*.*"):
        shutil.rmtree(left, ignore_errors=True)
    waiting = []
    for part, file in zip(parts, files, strict=True):
        if (part / _DONE).is_file():
            on_bytes(file.stat().st_size)
        else:
            waiting.append(partial(_read_file, part, name, source, file))
    if min(jobs, len(waiting)) > 1:
        run_tasks(waiting, min(jobs, len(waiting)), on_bytes)
    else:
        for task in waiting:
            task(on_bytes)
    return [
        (part, msgspec.json.decode((part / _DONE).read_bytes(), type=ImportedSource))
        for part in parts
    ]


def _read_file(part: Path, name: str, source: FileSource, file: Path, on_bytes: Report) -> None:
    """Read one file into the folder `part`, whose marker says that it is complete."""
    importer = importer_named(source.format)
    own = part.with_name(f"{part.name}.{os.getpid()}")
    own.mkdir()
    try:
        if importer.recognise(file):
            done = read_records(own, name, source, importer, file, on_bytes)
        else:
            with opened(file) as stream:  # damaged, or of another format
                stream.read(_HEAD)
            done = _nothing_read(own, name)
    except MissingPackageError:
        # Marked as read, the file would stay unread once the package is installed.
        raise
    except CitewellError as error:
        # As in a folder, only the records of a broken file are lost.
        done = _nothing_read(own, name, problem=error.problem)
    write_whole(own / _DONE, msgspec.json.encode(done))
    shutil.rmtree(part, ignore_errors=True)
    own.replace(part)


def _nothing_read(folder: Path, name: str, problem: Problem | None = None) -> ImportedSource:
    """The counts of a file without records, whose half-read ones are removed."""
    shutil.rmtree(folder)
    folder.mkdir()
    if problem is None:
        return ImportedSource(name, 0, 0, {"other files": 1})
    return ImportedSource(name, 0, 1, {}, problems=(problem,))
