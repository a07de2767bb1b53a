"""Access of agents to files: only those inside the folders given at the start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec import Struct

from citewell.model import CitewellError, Problem
from citewell.model.document import PAPER_SUFFIXES

MAX_FILE = 8_000_000
"""Maximum bytes of a file that an agent may read."""
MAX_BIBS = 200
MAX_FOLDERS = 5_000
NAMED = 12
"""Maximum number of files named in an error."""
_NAMED = frozenset({".bib", *PAPER_SUFFIXES})
_UNPORTABLE = frozenset('*?{\\:<>|"')
"""Characters of no new file's name: those of patterns, and of other systems' paths."""
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "build", "dist"})


class Roots(Struct, frozen=True):
    """The folders, links resolved. A path is judged by its target, not by its name."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def open(cls, folders: Sequence[Path]) -> Roots:
        """Open the folders. Raises `CitewellError` for anything but a folder."""
        found = []
        for folder in folders:
            real = Path(os.path.realpath(folder))
            if not real.is_dir():
                raise CitewellError(
                    Problem(
                        "mcp-root-missing",
                        f"The root {str(folder)!r} is not a folder.",
                        "Give an existing folder.",
                    )
                )
            found.append(real)
        return cls(tuple(dict.fromkeys(found)))

    def within(self, folders: Sequence[Path]) -> Roots:
        """The intersection of the roots and other folders; the roots if it is empty."""
        common = [
            max(root, folder, key=lambda path: len(path.parts))
            for folder in folders
            for root in self.folders
            if (folder.is_relative_to(root) and folder.is_dir()) or root.is_relative_to(folder)
        ]
        return Roots(tuple(dict.fromkeys(common))) if common else self

    def holds(self, path: Path) -> bool:
        """True for a path inside a root once links are resolved."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self.folders)

    def find(self, name: str, *, new: bool = False) -> Path:
        """The file with a name, relative to a root or absolute. `new` allows a missing file. Raises
        `CitewellError`, which never reveals whether a file outside exists."""
        if not self.folders:
            raise CitewellError(
                Problem(
                    "mcp-no-root",
                    "No file can be read: this server was started without a folder.",
                    "Pass the text itself, or start it as `citewell mcp --root FOLDER`.",
                )
            )
        if not name or "\0" in name:
            raise CitewellError(outside(name))
        # An agent that sees the folder from above includes its name.
        below = [
            folder.joinpath(*Path(name).parts[1:])
            for folder in self.folders
            if len(Path(name).parts) > 1 and Path(name).parts[0] == folder.name
        ]
        given = [*(folder / name for folder in self.folders), *below]
        places = [Path(os.path.realpath(place)) for place in given]
        inside = [place for place in places if self.holds(place)]
        if not inside:
            raise CitewellError(outside(name))
        for place in inside:
            if _is_file(place):
                if place.stat().st_size > MAX_FILE:
                    raise CitewellError(
                        Problem(
                            "file-too-large",
                            f"{name} is larger than {MAX_FILE // 1_000_000} MB.",
                            "Give a smaller file.",
                        )
                    )
                return place
        for place in inside:
            if new and _may_be_made(place):
                return place
        raise CitewellError(
            Problem(
                "file-missing",
                f"No file {name[:200]!r} in the roots.",
                f"Give one relative to a root: {self._some()}.",
            )
        )

    def overlay(self, path: Path) -> str | None:
        """For reading a project: a file outside counts as empty."""
        return None if self.holds(path) else ""

    def shown(self, path: Path | str) -> str:
        """The path relative to its root, with slashes; the bare name of a file outside."""
        real = Path(os.path.realpath(path))
        for folder in self.folders:
            if real.is_relative_to(folder):
                return real.relative_to(folder).as_posix()
        return real.name

    def _some(self) -> str:
        """Names of existing files, for an agent that cannot list them."""
        found = [self.shown(path) for path in islice(self._files(_NAMED), NAMED + 1)]
        more = ", ..." if len(found) > NAMED else ""
        return ", ".join(found[:NAMED]) + more or "they contain no paper and no .bib"

    def example(self, suffixes: Sequence[str]) -> str:
        """A file with one of the suffixes; "" if there is none."""
        return next(map(self.shown, self._files(frozenset(suffixes))), "")

    def bibs(self) -> Iterator[Path]:
        """The .bib files in the roots, without hidden and installed folders, at most a few
        hundred."""
        return islice(self._files(frozenset({".bib"})), MAX_BIBS)

    def _files(self, suffixes: frozenset[str]) -> Iterator[Path]:
        walks = chain.from_iterable(os.walk(folder) for folder in self.folders)
        for top, folders, files in islice(walks, MAX_FOLDERS):
            folders[:] = sorted(
                name for name in folders if name[:1] != "." and name not in _PASSED_OVER
            )
            for name in sorted(files):
                path = Path(top) / name
                if (
                    path.suffix.lower() in suffixes
                    and self.holds(path)
                    and path.stat().st_size <= MAX_FILE
                ):
                    yield path


def _is_file(path: Path) -> bool:
    """Whether the file exists; False for a name that the system rejects, such as one too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def _may_be_made(path: Path) -> bool:
    # A pattern such as `bib/*.bib`, which a paper may declare, names none.
    if not path.name.isprintable() or not _UNPORTABLE.isdisjoint(path.name):
        return False
    try:
        return path.parent.is_dir() and not path.exists()
    except OSError:
        return False


def outside(name: str) -> Problem:
    """The problem of a file outside the roots."""
    return Problem(
        "mcp-outside-roots",
        f"{name[:200]!r} is not inside a folder that this server may read.",
        "Give a file relative to a root; links out of it are not followed.",
    )
