"""Which files of a paper Citewell may write."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec


class WriteAccess(msgspec.Struct, frozen=True):
    """The places that may be written for one paper: inside the workspace or beside an open file."""

    path: Path
    """The file that was opened."""
    root: Path
    """The file from which the paper is built."""
    roots: tuple[Path, ...]
    """The workspace's folders."""
    own_folders: Collection[Path]
    """Folders outside of the workspace that may be written as well."""
    target: Path | None
    """The .bib that the settings name."""

    def may_write(self, path: Path) -> bool:
        """True for a file that `may_hold` allows and that permissions let one write."""
        if not self.may_hold(path):
            return False
        real = Path(os.path.realpath(path))
        try:
            if real.exists():
                return bool(real.stat().st_mode & 0o222) and os.access(real, os.W_OK)
            return real.parent.is_dir() and os.access(real.parent, os.W_OK)
        except OSError:
            return False

    def may_hold(self, path: Path) -> bool:
        """True for a place inside the workspace or beside an open file, links followed.

        A `bib.target` below the paper may come from a `citewell.toml`, so no link leads it out.
        """
        real = Path(os.path.realpath(path))
        if path == self.target and path.is_relative_to(self.root.parent):
            tops = (self.root.parent, *self.roots)
            return any(real.is_relative_to(os.path.realpath(top)) for top in tops)
        return any(real.is_relative_to(top) for top in self._folders())

    def _folders(self) -> Iterator[Path]:
        yield from (Path(os.path.realpath(top)) for top in (*self.roots, *self.own_folders))
        if not self.roots or self.path.parent in self.own_folders:
            folder = Path(os.path.realpath(self.root.parent))
            yield folder
            # For `../refs.bib`.
            if folder.parent not in (Path.home(), folder.parent.parent):
                yield folder.parent
