"""The problems of a library, each with its hint for the user."""

from __future__ import annotations

from pathlib import Path

from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command, starter_command

_HINTS = {
    "library-missing": "Build one with `citewell library add PATH...`, or install the starter "
    "library: `citewell library add starter` says how.",
    "library-foreign": "Choose a folder created by `citewell library`; this one was not changed.",
    "library-corrupt": "Rebuild it with `citewell library build --fresh`.",
    "library-newer": "Update Citewell, or rebuild the library with `citewell library build "
    "--fresh`.",
    "library-older": "Rebuild it with `citewell library build --fresh`.",
    "library-unreadable": "Grant yourself permission to read the folder and its files.",
    "library-locked": "Wait for the other build to finish, then try again.",
    "library-unwritable": "Grant yourself permission to write there, or set `library.path` to "
    "another folder.",
    "library-disk-full": "Free some space and run the same command again.",
    "library-empty": "Add papers with `citewell library add PATH...`.",
    "library-name": "Use only letters, digits, '.', '_' and '-', and begin with a letter or digit.",
    "build-process-died": "Run `citewell library build` again: it continues where it stopped, and "
    "needs less memory with fewer `--jobs`.",
    "ray-unused": "Name an encoder in `retrieval.encoders`, or leave out `--ray`.",
    "ray-unreachable": "Check the address, and that the cluster has the same versions of Ray and "
    "Python.",
    "ray-failed": "Install Citewell on every node, with the same extras. Then run the same command "
    "again: it continues where it stopped.",
    "ray-other-encoder": "Install the same version of Citewell and of the model on every node.",
    "source-missing": "Check the path, or remove the source with `citewell library remove "
    "--source`.",
    "source-pending": "Run `citewell library build`.",
    "source-unknown": "Set its format with `--format`; `citewell library formats` lists them.",
    "source-empty": "Check the file, or set its format with `--format`.",
    "source-unreadable": "Check that the file is complete and readable.",
}


_EXTRAS = {"parquet-not-installed": "parquet", "ray-not-installed": "ray"}
"""The extra named in the hint."""


class LibraryError(CitewellError):
    """A library cannot be opened, built or written; nothing was loaded or lost."""


class MissingPackageError(LibraryError):
    """The package that reads a format is missing: none of its files can be read."""


def library_problem(code: str, message: str, path: Path | None = None) -> Problem:
    """A problem with this code and its standard hint."""
    if code == "starter-missing":
        hint = f"Install it: `{starter_command()}`."
    elif code in _EXTRAS:
        hint = f"Install it: `{install_command(_EXTRAS[code])}`."
    else:
        hint = _HINTS[code]
    return Problem(code=code, message=message, hint=hint, path=str(path) if path else "")


def library_error(code: str, message: str, path: Path | None = None) -> LibraryError:
    """A `LibraryError` with this code and its standard hint."""
    return LibraryError(library_problem(code, message, path))


def unreadable_index(
    index: str,
    error: Exception,
    folder: Path,
    hint: str = "Run `citewell library build` to rebuild it.",
) -> CitewellError:
    """The exception for an unreadable index of a library, such as "The BM25 index"."""
    message = f"{index} cannot be read ({error})."
    return CitewellError(Problem("index-unreadable", message, hint, path=str(folder)))
