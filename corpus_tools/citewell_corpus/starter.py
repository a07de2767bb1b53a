"""The starter library: real papers from an installed package, with no download."""

from __future__ import annotations

from pathlib import Path

from citewell.corpus import Library, LibraryError, library_path
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.progress import Progress
from citewell_corpus.sources import STARTER, source_at

_STILL_READABLE = frozenset({"library-locked", "library-unwritable", "library-disk-full"})


def ensure_starter(
    folder: Path | None = None,
    *,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Path:
    """Folder of the library "starter" below `folder`, built if absent and updated if outdated.

    Raises `LibraryError` "starter-missing" when the `starter` extra is not installed. A starter
    library that cannot be updated, for example in a read-only folder, is used as is.
    """
    path = library_path(folder, STARTER)
    if progress is None:
        from citewell_corpus.cli.bars import bars

        with bars() as shown:
            return ensure_starter(folder, options=options, progress=shown)
    try:
        build_library(
            path,
            add=[source_at(STARTER)],
            builders=default_builders(options or Options()),
            progress=progress,
        )
    except LibraryError as error:
        if error.problem.code not in _STILL_READABLE or not _readable(path):
            raise
    return path


def _readable(path: Path) -> bool:
    try:
        Library.open(path).close()
    except LibraryError:
        return False
    return True
