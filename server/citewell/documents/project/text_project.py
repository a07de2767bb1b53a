"""A paper that a program hands over as texts: read as any other, and no disk is looked at."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from citewell.documents.project.files import FileCache, Overlay
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.model.problem import CitewellError, Problem
from citewell.options import Options
from citewell.options.tree import DocumentOptions

MAX_NAME = 200


class TextFiles(FileCache):
    """Reads what the overlay has, and nothing from a disk."""

    def __init__(self, options: DocumentOptions, paths: Collection[Path]) -> None:
        super().__init__(options)
        self.paths = paths
        """The files that were handed over."""

    def _text(self, path: Path, overlay: Overlay | None) -> str | Problem | None:
        text = None if overlay is None else overlay(path)
        return None if text is None else super()._text(path, lambda _: text)


class TextProject(Project):
    """A paper whose files are given as texts by name. Their folder does not exist, so that no file
    on the disk can be mistaken for a part of the paper."""

    @classmethod
    def of(cls, texts: Mapping[str, str], main: str, options: Options) -> TextProject:
        """The paper to which the file `main` belongs. Raises `CitewellError` for a name that leads
        out of the paper."""
        folder = Path(os.path.abspath(os.sep)) / f"citewell-{secrets.token_hex(16)}"  # noqa: PTH100
        held = {folder / _name(name): text for name, text in texts.items()}
        opened = cls.open(
            folder / _name(main),
            options.documents,
            roots=[folder],
            read=held.get,
            bib_options=options.bib,
            cache=TextFiles(options.documents, held),
        )
        assert isinstance(opened, cls)
        return opened

    def name_of(self, path: Path | str) -> str:
        """The name of a file of the paper, with slashes."""
        below = Path(path).relative_to(self.roots[0])
        return below.as_posix()

    def fresh_cache(self) -> FileCache:
        return TextFiles(self._cache.options, self._paths)

    def may_write(self, path: Path) -> bool:
        """True for paths inside the paper's own folder: the caller writes them."""
        return path.is_relative_to(self.roots[0])

    def _is_file(self, path: Path) -> bool:
        return self._read is not None and self._read(path) is not None

    def _matching(self, folder: Path, pattern: str) -> Iterable[Path]:
        whole = str(absolute(folder / pattern))
        return (path for path in self._paths if path.match(whole))

    def _lone_bib(self) -> Path | None:
        beside = [path for path in self._paths if path.parent == self.root.parent]
        found = [path for path in beside if path.suffix.lower() == ".bib"]
        return found[0] if len(found) == 1 else None

    @property
    def _paths(self) -> Collection[Path]:
        return self._cache.paths if isinstance(self._cache, TextFiles) else ()


def _name(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    bad = not path.parts or path.is_absolute() or ".." in path.parts or len(name) > MAX_NAME
    if bad or any(char in name for char in '\\:\0\n<>"|?*'):
        raise CitewellError(
            Problem(
                "file-name",
                f"{name[:MAX_NAME]!r} is not a valid file name for the paper.",
                "Use a relative path with slashes, such as sections/intro.tex.",
            )
        )
    return path
