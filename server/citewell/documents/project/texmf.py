"""Where an author keeps bibliographies for all papers: the personal tree that TeX searches."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

_INSIDE = Path("bibtex") / "bib"
MAX_FOLDERS = 200


def personal_folders() -> tuple[Path, ...]:
    """`bibtex/bib` of TEXMFHOME, or of the place that TeX Live takes for it, with what it holds.

    Looked at once: who adds a folder there starts the editor again.
    """
    return _folders(os.environ.get("TEXMFHOME", ""))


@lru_cache(maxsize=4)
def _folders(named: str) -> tuple[Path, ...]:
    try:
        home = Path.home()
    except RuntimeError:
        return ()
    usual = home / "Library" / "texmf" if sys.platform == "darwin" else home / "texmf"
    trees = [Path(part).expanduser() for part in named.split(os.pathsep) if part] or [usual]
    found: list[Path] = []
    for tree in trees:
        for folder, inner, _ in os.walk(tree / _INSIDE):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            found.append(Path(folder))
            if len(found) >= MAX_FOLDERS:
                return tuple(found)
    return tuple(found)
