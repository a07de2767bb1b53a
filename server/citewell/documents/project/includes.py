"""Files that belong together: include targets, and the root that includes a file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from citewell.model.document import (
    FLAVOURS,
    LATEX_SUFFIXES,
    PAPER_SUFFIXES,
    Document,
    Format,
    Include,
    IncludeMacro,
)

SOURCE_SUFFIXES = (
    *(suffix for one in FLAVOURS if one.format is not Format.BIBTEX for suffix in one.suffixes),
    ".pgf",
)
"""Suffixes of files that may be included: no other file is opened on behalf of a document."""

MAX_FILES = 2_000
_MAX_CANDIDATES = 200
_MAX_ROUNDS = 6
_MAX_PARENTS = 4
_TECTONIC_PARTS = {"preamble": "_preamble.tex", "index": "index.tex", "postamble": "_postamble.tex"}
_MAX_TOML = 100_000
_MARKERS = (
    ".git",
    ".hg",
    "citewell.toml",
    "latexmkrc",
    ".latexmkrc",
    "_quarto.yml",
    "Tectonic.toml",
)
_FIRST_NAMES = ("main", "paper", "thesis", "article", "root", "book", "ms", "manuscript")

Load = Callable[[Path], Document | None]
"""The scanned document of a path, or None when there is none."""
Text = Callable[[Path], str | None]


class LoadWith(Protocol):
    """Returns a file scanned with the include commands defined in other files."""

    def __call__(self, path: Path, macros: Sequence[IncludeMacro] = ()) -> Document | None: ...


def absolute(path: Path | str) -> Path:
    """The path made absolute, with `..` resolved but symbolic links kept."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100


def include_candidates(include: Include, source: Path, root: Path) -> Iterator[Path]:
    """Candidate paths of an include, the likeliest first."""
    target = include.target.replace("\\jobname", root.stem)
    if "\\" in target or "#" in target or "\x00" in target or not target:
        return
    # TeX resolves paths from its working folder; \subimport and \subfile from the file's own.
    folders = [root.parent, source.parent]
    if include.command.startswith("sub"):
        folders.reverse()
    for folder in dict.fromkeys(folders):
        path = absolute(folder / target)
        if path.suffix.lower() in SOURCE_SUFFIXES:
            yield path
        if path.suffix.lower() != ".tex":
            yield path.with_name(path.name + ".tex")


def include_tree(
    root: Path, load: LoadWith, macros: Sequence[IncludeMacro] = ()
) -> dict[Path, Document]:
    """The root and everything that it includes, each file once, in reading order; cycles are fine.

    An include command defined in one of the files applies to all: while new ones are found, the
    tree is traversed again, and only the files that use one are scanned again.
    """
    known = tuple(macros)
    tree: dict[Path, Document] = {}
    for _ in range(_MAX_ROUNDS):
        tree = dict(_walk(root, partial(load, macros=known)))
        found = (macro for document in tree.values() for macro in document.include_macros)
        more = tuple(dict.fromkeys((*known, *found)))
        if more == known:
            break
        known = more
    return tree


def _walk(root: Path, load: Load) -> Iterator[tuple[Path, Document]]:
    parts = _tectonic_parts(root)
    seen = {*parts}
    # The files still to be read, the next one last.
    waiting = [*reversed(parts)]
    count = 0
    while waiting and count < MAX_FILES:
        path = waiting.pop()
        document = load(path)
        if document is None:
            continue
        count += 1
        yield path, document
        found: list[Path] = []
        for include in document.includes:
            for candidate in include_candidates(include, path, root):
                if candidate in seen:
                    break
                if candidate.is_file() or load(candidate) is not None:
                    seen.add(candidate)
                    found.append(candidate)
                    break
        waiting += reversed(found)


def _tectonic_parts(root: Path) -> tuple[Path, ...]:
    """The files that Tectonic joins into one source, if the root is one of them; else the root.

    By default `_preamble.tex`, `index.tex` and `_postamble.tex` of `src`, the folder beside
    `Tectonic.toml`; each output may name its own.
    """
    settings = root.parent.parent / "Tectonic.toml"
    if root.parent.name != "src" or not settings.is_file():
        return (root,)
    try:
        with settings.open("rb") as file:
            outputs = tomllib.loads(file.read(_MAX_TOML).decode("utf-8", "replace")).get("output")
    except (OSError, tomllib.TOMLDecodeError):
        outputs = None
    for output in outputs if isinstance(outputs, list) and outputs else [{}]:
        if not isinstance(output, dict):
            continue
        names = output.get("inputs") or [
            output.get(part, name) for part, name in _TECTONIC_PARTS.items()
        ]
        if not isinstance(names, list):
            continue
        parts = [absolute(root.parent / name) for name in names if isinstance(name, str) and name]
        if root in parts and all(part.is_relative_to(root.parent) for part in parts):
            return tuple(dict.fromkeys(parts))
    return (root,)


def is_main(document: Document) -> bool:
    """True for a source from which a paper can be built."""
    if document.format is not Format.LATEX:
        return document.format is Format.MARKDOWN
    return document.document_class != "subfiles" and bool(
        document.document_class or document.body is not None
    )


def find_root(path: Path, load: LoadWith, mains: Callable[[Path], Iterator[Path]]) -> Path:
    r"""The file that TeX compiles to reach `path`; `path` itself when none is found.

    A magic comment or a subfile's class option names it; a file with `\documentclass` is its own
    root; else the candidates from `mains` are searched for one that includes `path`. A part that no
    file includes belongs to the only paper beside or above it.
    """
    seen = {path}
    current = path
    while (document := load(current)) is not None and document.root:
        parent = _named_root(document.root, current, load)
        if parent is None or parent in seen:
            break
        seen.add(parent)
        current = parent
    if current != path:
        return current
    document = load(path)
    if document is not None and document.format is Format.MARKDOWN and not document.bibliographies:
        return _parent(path, load, mains) or path
    if document is None or is_main(document):
        return path
    found: list[Path] = []
    for candidate in mains(path):
        if candidate.suffix.lower() in LATEX_SUFFIXES:
            if path in include_tree(candidate, load):
                return candidate
            found.append(candidate)
    return _host(path, found, load) or path


def _parent(path: Path, load: LoadWith, mains: Callable[[Path], Iterator[Path]]) -> Path | None:
    """The Markdown document that includes another one and declares its bibliography."""
    for candidate in mains(path):
        document = load(candidate)
        includes = document.includes if document is not None else ()
        named = any(include.target.endswith(path.name) for include in includes)
        if named and path in include_tree(candidate, load):
            return candidate
    return None


def _host(path: Path, mains: Sequence[Path], load: Load) -> Path | None:
    """The paper that a part will belong to: the only one in the nearest folder with any or, of
    several, the one with a usual name or a declared bibliography."""
    if path.suffix.lower() not in LATEX_SUFFIXES or not mains:
        return None
    near = [main for main in mains if main.parent == mains[0].parent]
    if len(near) > 1:
        usual = [main for main in near if _rank(main.name) < len(_FIRST_NAMES)]
        citing = [main for main in near if (own := load(main)) is not None and own.bibliographies]
        near = next((few for few in (usual, citing) if len(few) == 1), [])
    return near[0] if near else None


def main_files(path: Path, load: Load, text: Text, roots: Sequence[Path] = ()) -> Iterator[Path]:
    """Sources in the folder of `path` and above from which a paper can be built, likely ones first.

    The search stays in the workspace's `roots`; outside them it ends at a repository's top.
    """
    for folder in folders_above(path, roots):
        for candidate in _candidates(folder):
            if candidate == path or not _worth_scanning(text(candidate)):
                continue
            known = load(candidate)
            if known is not None and is_main(known):
                yield candidate


def _worth_scanning(text: str | None) -> bool:
    marks = ("\\documentclass", "\\begin{document}", "bibliography:")
    return text is not None and any(mark in text for mark in marks)


def _named_root(target: str, source: Path, load: Load) -> Path | None:
    path = absolute(source.parent / target)
    options = [path] if path.suffix else []
    options.append(path.with_name(path.name + ".tex"))
    return next((p for p in options if load(p) is not None), None)


def folders_above(path: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """The file's folder and those above it, up to the workspace's or a repository's top."""
    inside = [root for root in roots if path.is_relative_to(root)]
    home = Path.home()
    for depth, folder in enumerate(path.parents):
        if inside and not any(folder.is_relative_to(root) for root in inside):
            return
        if depth and folder in (home, folder.parent):
            return
        yield folder
        if not inside and depth >= _MAX_PARENTS:
            return
        if not inside and any((folder / marker).exists() for marker in _MARKERS):
            return


def _candidates(folder: Path) -> list[Path]:
    try:
        names = [
            entry.name
            for entry in os.scandir(folder)
            if entry.name.lower().endswith(PAPER_SUFFIXES) and not entry.name.startswith(".")
        ]
    except OSError:
        return []
    names.sort(key=lambda name: (_rank(name), name))
    return [folder / name for name in names[:_MAX_CANDIDATES]]


def _rank(name: str) -> int:
    stem = name.rpartition(".")[0].lower()
    return _FIRST_NAMES.index(stem) if stem in _FIRST_NAMES else len(_FIRST_NAMES)
