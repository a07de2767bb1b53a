"""The manuscripts and bibliographies of a workspace, listed again only when a folder changed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from citewell.model.flavours import PAPER_SUFFIXES

MAX_FILES = 5_000
MAX_FOLDERS = 5_000
MAX_DEPTH = 12
_SUFFIXES = (*PAPER_SUFFIXES, ".bib")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env", "renv"})


class SourceFiles:
    """The files of some folders, without hidden ones; links to folders are not followed."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)
        self._folders: dict[Path, int] = {}
        self._files: tuple[Path, ...] = ()

    def list(self) -> tuple[Path, ...]:
        """Every source in a fixed order, at most `MAX_FILES` of the first `MAX_FOLDERS`, those
        nearest to the roots first; the same object while none came or
        went. Costs one look at each folder."""
        if not self._folders or any(_time(f) != time for f, time in self._folders.items()):
            files = self._walk()
            if files != self._files:
                self._files = files
        return self._files

    def _walk(self) -> tuple[Path, ...]:
        self._folders = {}
        found: list[Path] = []
        waiting = deque((root, 0) for root in self.roots)
        while waiting and len(found) < MAX_FILES and len(self._folders) < MAX_FOLDERS:
            folder, depth = waiting.popleft()
            if folder in self._folders:
                continue
            self._folders[folder] = _time(folder)
            inner: list[Path] = []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        name = entry.name
                        if name.startswith(".") or name in _SKIPPED:
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            inner.append(folder / name)
                        elif name.lower().endswith(_SUFFIXES):
                            found.append(folder / name)
            except OSError:
                continue
            if depth < MAX_DEPTH:
                waiting += [(path, depth + 1) for path in sorted(inner)]
        return tuple(sorted(found[:MAX_FILES]))


def _time(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return -1
