"""The status of a library, whole or damaged."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import msgspec

from citewell.corpus.card import Card, coverage_of, read_card
from citewell.corpus.errors import LibraryError, library_error, library_problem
from citewell.corpus.layout import (
    CURRENT,
    ENTRIES,
    SourceUse,
    default_libraries_dir,
    is_begun,
    leftovers,
    strangers,
)
from citewell.corpus.library import Library
from citewell.model import Problem
from citewell_corpus import sources as source_list
from citewell_corpus.lock import writer_lock


class LibraryStatus(msgspec.Struct, kw_only=True):
    """The status of one library."""

    name: str
    path: str
    snapshot: str = ""
    works: int = 0
    titles: int = 0
    merged: int = 0
    quarantined: int = 0
    """Works with a malformed name, which no search finds."""
    rows: int = 0
    """Live and dead rows; many dead ones make `library build --compact` worth while."""
    segments: int = 0
    size: int = 0
    """Bytes on disk, unfinished builds included."""
    created: str = ""
    age_days: float | None = None
    citewell: str = ""
    indexes: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    sources: dict[str, SourceUse] = msgspec.field(default_factory=dict)
    card: Card | None = None
    """What a bundled library contains and lacks."""
    first: int = 0
    last: int = 0
    """Years of the first and the last work; 0 if unknown."""
    below: Card | None = None
    """The card of the starter library, if it is searched below this one."""
    unfinished: bool = False
    """A build was interrupted; `library build` resumes it."""
    problems: list[Problem] = msgspec.field(default_factory=list)


def library_status(path: Path, *, verify: bool = False) -> LibraryStatus:
    """The status of the library in the folder; `verify` hashes every file. Never raises for its
    state."""
    status = LibraryStatus(name=path.name, path=str(path))
    status.size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    status.card = read_card(path)
    if status.card is not None:
        status.name = status.card.name
    status.unfinished = (path / "staging" / "plan.json").is_file()
    try:
        with Library.open(path) as library:
            manifest = library.manifest
            status.snapshot, status.works = library.snapshot, len(library)
            status.titles, status.merged = manifest.titles, manifest.merged
            status.rows, status.segments = library.rows, len(library.segments)
            status.created, status.citewell = manifest.created, manifest.citewell
            status.age_days = _age(manifest.created)
            status.quarantined = len(library.quarantined_rows())
            status.indexes, status.sources = manifest.indexes, manifest.sources
            (covered,) = coverage_of(library)
            status.first, status.last = covered.first, covered.last
            if verify:
                status.problems += library.verify()
    except LibraryError as error:
        status.problems.append(error.problem)
    else:
        if not status.works:
            status.problems.append(library_problem("library-empty", "It contains no papers.", path))
    status.problems += _sources(path, status)
    return status


def libraries(folder: Path | None) -> list[Path]:
    """Folders of the libraries below `folder`, by name, damaged ones included."""
    place = folder or default_libraries_dir()
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if path.is_dir() and is_begun(path))


def remove_library(path: Path) -> None:
    """Delete a library. Raises `LibraryError` if the folder is no library or is in use."""
    if not path.is_dir():
        raise library_error("library-missing", "No library in this folder.", path)
    strange = strangers(path)
    if not is_begun(path):
        message = f"The folder is not a library{f', it holds {strange[0]}' if strange else ''}."
        raise library_error("library-foreign", message, path)
    with writer_lock(path):
        # CURRENT first: without it, readers do not take the rest for a library.
        (path / CURRENT).unlink(missing_ok=True)
    if not strange:
        shutil.rmtree(path)
        return
    # The folder contains other files.
    for left in leftovers(path):
        left.unlink(missing_ok=True)
    for name in ENTRIES:
        if (path / name).is_dir():
            shutil.rmtree(path / name)
        else:
            (path / name).unlink(missing_ok=True)


def _age(created: str) -> float | None:
    try:
        moment = datetime.datetime.fromisoformat(created)
    except ValueError:
        return None
    return round((datetime.datetime.now(datetime.UTC) - moment).total_seconds() / 86_400, 2)


def _sources(path: Path, status: LibraryStatus) -> list[Problem]:
    try:
        known = source_list.read_sources(path)
    except LibraryError as error:
        return [error.problem]
    problems = []
    for name, source in known.items():
        if name not in status.sources:
            message = "A source was added but not built yet."
            problems.append(library_problem("source-pending", message, Path(source.path)))
        try:
            source_list.location(source)
        except LibraryError as error:
            problems.append(error.problem)
    return problems
