"""Which library answers when the settings leave it open, and which one lies below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from citewell.corpus import library_path
from citewell.corpus.layout import current_snapshot, is_library
from citewell.corpus.starter import installed_starter
from citewell.model import CitewellError, Problem
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.corpus import Library

DEFAULT = "default"
STARTER = "starter"


def which_library(options: Options) -> Path:
    """Folder of the library that the settings name.

    While nobody has built the library "default", the starter library stands in for it: after the
    first try every command and editor already has something to search. The starter is the one
    that is installed as data, or else one that was built.
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
    """Folder of the installed starter library where that is searched below the library that the
    settings name; None where it is not."""
    if not options.library.starter or options.library.name == STARTER:
        return None
    installed = installed_starter()
    return None if installed == which_library(options) else installed


def open_library(options: Options) -> tuple[Library, tuple[Problem, ...]]:
    """The library that the settings name, on the starter library, and why that is left out if it
    cannot be opened. Raises `LibraryError` as `Library.open` does."""
    from citewell.corpus import Library

    path, lower = which_library(options), library_below(options)
    below: Library | None = None
    problems: tuple[Problem, ...] = ()
    if lower is not None and is_library(path):
        try:
            below = Library.open(lower)
        except CitewellError as error:
            problems = (error.problem,)
    return Library.open(path, below), problems


def snapshot_of(options: Options) -> str:
    """What `Library.snapshot` is of the library that the settings name, without opening it.

    Raises `LibraryError` where there is none.
    """
    own = current_snapshot(which_library(options))
    lower = library_below(options)
    if lower is None:
        return own
    try:
        return f"{own}+{current_snapshot(lower)}"
    except CitewellError:
        return own
