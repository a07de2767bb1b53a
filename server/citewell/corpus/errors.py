"""What can be wrong with a library, each with the cure that the user is shown."""

from __future__ import annotations

from pathlib import Path

from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command

_CURES = {
    "library-missing": "Build one with `citewell library add PATH...`, or `citewell library add "
    "starter` for the starter library.",
    "library-foreign": "Name a folder that `citewell library` made; this one was left as it is.",
    "library-corrupt": "Build it anew with `citewell library build --fresh`.",
    "library-newer": "Update Citewell, or build the library anew with `citewell library build "
    "--fresh`.",
    "library-older": "Build it anew with `citewell library build --fresh`.",
    "library-unreadable": "Give yourself the right to read the folder and its files.",
    "library-locked": "Wait until the other build has ended, then try again.",
    "library-unwritable": "Give yourself the right to write there, or set `library.path` to "
    "another folder.",
    "library-disk-full": "Free some space and run the same command again.",
    "library-empty": "Add papers with `citewell library add PATH...`.",
    "library-name": "Use letters, digits, '.', '_' and '-' only, and begin with a letter or digit.",
    "source-missing": "Check the path, or drop the source with `citewell library remove --source`.",
    "source-pending": "Run `citewell library build`.",
    "source-unknown": "Name its format with `--format`; `citewell library formats` lists them.",
    "source-empty": "Check that this is the right file, and its format with `--format`.",
    "source-unreadable": "Check that the file is whole and that you may read it.",
}


class LibraryError(CitewellError):
    """A library that cannot be opened, built or written; nothing of it was loaded or lost."""


def library_problem(code: str, message: str, path: Path | None = None, hint: str = "") -> Problem:
    """A problem with this code and its standard cure."""
    if code == "starter-missing":
        hint = hint or f"Install the records: `{install_command('starter')}`."
    return Problem(
        code=code, message=message, hint=hint or _CURES[code], path=str(path) if path else ""
    )


def library_error(code: str, message: str, path: Path | None = None) -> LibraryError:
    """The same, to be raised."""
    return LibraryError(library_problem(code, message, path))
