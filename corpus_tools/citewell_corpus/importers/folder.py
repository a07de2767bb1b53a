"""Base class of importers of single files, which also reads folders of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from citewell.corpus.errors import LibraryError, MissingPackageError
from citewell.model import Work
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import bare_suffix

_LOOKED_AT = 5
_MAX_FILES = 100_000
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class FileImporter:
    """Base class of importers of files: a folder consists of its files of the format."""

    name = ""
    about = ""
    version = 1
    suffixes: tuple[str, ...] = ()
    """Suffixes of the format's files, without a compression suffix."""

    def recognise(self, path: Path) -> bool:
        """True if the file, or one of the first files of the folder, looks like the format."""
        if path.is_dir():
            return any(self.recognise_file(file) for file in self.files(path)[:_LOOKED_AT])
        return path.is_file() and self.recognise_file(path)

    def recognise_file(self, path: Path) -> bool:
        """True if the file looks like the format."""
        return bare_suffix(path) in self.suffixes

    def files(self, folder: Path) -> list[Path]:
        """Every file with one of the suffixes in the folder and below, sorted."""
        found = []
        for place, folders, names in os.walk(folder):
            folders[:] = sorted(set(folders) - _PASSED_OVER)
            found += [Path(place) / n for n in names if bare_suffix(Path(n)) in self.suffixes]
            if len(found) > _MAX_FILES:
                break
        return sorted(found)[:_MAX_FILES]

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of the file, or of every file in the folder."""
        if not path.is_dir():
            yield from self.read_file(path, report)
            return
        for file in self.files(path):
            if not self.recognise_file(file):
                report.skip("other files")
                continue
            try:
                yield from self.read_file(file, report)
            except MissingPackageError:
                raise
            except LibraryError as error:
                # In a folder, only the records of a broken file are lost.
                report.bad_file(error.problem)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of one file."""
        raise NotImplementedError
