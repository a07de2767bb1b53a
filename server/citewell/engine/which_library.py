"""The library to search if the settings leave it open, and those below it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.corpus.layout import (
    ACCEPTED,
    CURRENT,
    STARTER,
    current_snapshot,
    installed_starter,
    is_library,
    library_path,
    read_manifest,
)
from citewell.model import CitewellError, Problem, Work
from citewell.options import Options
from citewell.retrieval.encoders.registry import further_name

if TYPE_CHECKING:
    from citewell.corpus.library import Library

DEFAULT = "default"
ACCEPTED_LIBRARY = "accepted"
"""Name of the library with records that the author accepted from sources."""


def which_library(options: Options) -> Path:
    """Folder of the configured library.

    Until the library "default" has been built, the starter library is used in its place, so that
    every command and editor has something to search from the start. The starter is the one that is
    installed as data, or else one that was built.
    """
    named = library_path(options.library.path, options.library.name)
    if options.library.name not in (DEFAULT, STARTER) or is_library(named):
        return named
    installed = installed_starter()
    if installed is not None:
        return installed
    starter = library_path(options.library.path, STARTER)
    if is_library(starter) or (starter.is_dir() and not named.exists()):
        return starter
    return named


def library_below(options: Options) -> Path | None:
    """Folder of the installed starter library if it is searched below the configured library, or
    None."""
    if not options.library.starter or options.library.name == STARTER:
        return None
    installed = installed_starter()
    return None if installed == which_library(options) else installed


def accepted_library(options: Options) -> Path:
    """Folder of the library of accepted records: beside the others, or in the user's data folder if
    they are not writable."""
    path = library_path(options.library.path, ACCEPTED_LIBRARY)
    existing = next((one for one in (path, *path.parents) if one.exists()), path)
    if options.library.path is None or os.access(existing, os.W_OK):
        return path
    return library_path(None, ACCEPTED_LIBRARY)


def keeps_accepted(options: Options) -> bool:
    """Whether accepted records are stored, and searched below the configured library."""
    return options.sources.keep and options.library.name != ACCEPTED_LIBRARY


def libraries_below(options: Options) -> list[Path]:
    """Folders of the libraries searched below the configured one: the starter library, and below it
    the accepted records."""
    lower = library_below(options)
    found = [] if lower is None else [lower]
    accepted = accepted_library(options)
    if keeps_accepted(options) and is_library(accepted) and _has_dense(accepted, options):
        found.append(accepted)
    return found


def open_library(options: Options) -> tuple[Library, tuple[Problem, ...]]:
    """The configured library, on top of those below it, and the problems of any left out.

    Raises `LibraryError` if there is nothing to search.
    """
    from citewell.corpus.library import Library

    path, lower = which_library(options), libraries_below(options)
    problems: list[Problem] = []
    if lower and not is_library(path) and lower[-1] == accepted_library(options):
        try:
            current_snapshot(path)
        except CitewellError as error:
            problems.append(error.problem)
        path, lower = lower[-1], []
    below: Library | None = None
    for folder in reversed(lower) if is_library(path) else ():
        try:
            below = Library.open(folder, below)
        except CitewellError as error:
            problems.append(error.problem)
    library = Library.open(path, below, _fill_gaps)
    # The snapshots tried, including a library below that could not be opened.
    library.snapshot = snapshot_of(options)
    return library, tuple(problems)


def snapshot_of(options: Options) -> str:
    """The value of `Library.snapshot`, without opening the library.

    Raises `LibraryError` if there is none.
    """
    snapshots: list[str] = []
    missing: CitewellError | None = None
    for folder in (which_library(options), *libraries_below(options)):
        try:
            snapshots.append(current_snapshot(folder))
        except CitewellError as error:
            missing = missing or error
    if missing is not None and not snapshots:
        raise missing
    return "+".join(snapshots)


def is_accepted_current(options: Options) -> bool:
    """False when accepted records wait to be built, or were built for other encoders."""
    folder = accepted_library(options)
    records = folder / ACCEPTED
    try:
        if not records.is_file():
            return True
        if (folder / CURRENT).stat().st_mtime_ns < records.stat().st_mtime_ns:
            return False
    except OSError:
        return False
    further = options.retrieval.further_encoders
    named = {further_name(encoder): encoder for encoder in further}
    return _has_dense(folder, options) and _encoders(folder).items() >= named.items()


def _fill_gaps(own: Work, other: Work) -> Work:
    # Imported when the first record has gaps.
    from citewell.sources.combine import fill_gaps

    return fill_gaps(own, other)


def _has_dense(folder: Path, options: Options) -> bool:
    """Whether a library has vectors of the shipped encoder, or needs none."""
    return not options.retrieval.dense or _encoders(folder).get("dense") == "citation"


def _encoders(folder: Path) -> dict[str, str]:
    """Encoders by index of vectors; empty for an unreadable library."""
    try:
        indexes = read_manifest(folder, current_snapshot(folder)).indexes
    except CitewellError:
        return {}
    return {name: str(facts["encoder"]) for name, facts in indexes.items() if "encoder" in facts}
