"""The files of a project, each read once: from the editor's buffer if open, else from disk."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.csl import parse_csl
from citewell.documents.bib.reader import parse_bib, parse_regions, reparse
from citewell.documents.keys.table import BibKeys, DocumentKeys, FileKeys
from citewell.documents.latex.commands import parse_signature
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.documents.textfile import read_text
from citewell.model.bib import BibFile
from citewell.model.cancel import reading
from citewell.model.document import (
    CSL_SUFFIXES,
    PAPER_SUFFIXES,
    Document,
    Format,
    IncludeMacro,
    Span,
    format_of,
)
from citewell.model.problem import Problem
from citewell.model.system.files import FileError
from citewell.options.tree import DocumentOptions

# One entry point for all document formats.

__all__ = ["format_of", "scan_document"]


def scan_document(
    path: str,
    text: str,
    options: DocumentOptions | None = None,
    *,
    cite_commands: Sequence[str] = (),
    packages: Sequence[str] = (),
    include_macros: Sequence[IncludeMacro] = (),
    defined_keys: Collection[str] = (),
) -> Document:
    """Scan a manuscript by its suffix; an unknown kind is scanned as LaTeX.

    `cite_commands`, `include_macros` and `packages` come from other files of the project: macros
    that the root file defines, packages that it loads. `defined_keys` are keys of its
    bibliographies that look like words.
    """
    options = options or DocumentOptions()
    commands = (*options.cite_commands, *cite_commands)
    if format_of(path) is Format.BIBTEX:
        return Document(path, Format.BIBTEX, text)  # `parse_bib` reads its entries
    if format_of(path) is Format.MARKDOWN:
        return scan_markdown(text, path, cite_commands=commands, placeholders=options.placeholders)
    return scan_latex(
        text,
        path,
        cite_commands=commands,
        placeholders=options.placeholders,
        packages=packages,
        include_macros=include_macros,
        defined_keys=defined_keys,
    )


# The manuscripts and bibliographies of a workspace, listed again only when a folder changed.

MAX_FILES = 5_000
MAX_FOLDERS = 5_000
MAX_DEPTH = 12
_SUFFIXES = (*PAPER_SUFFIXES, ".bib")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env", "renv"})


class SourceFiles:
    """The source files of some folders; hidden files are skipped, links to folders not followed."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)
        self._folders: dict[Path, int] = {}
        self._files: tuple[Path, ...] = ()

    def list(self) -> tuple[Path, ...]:
        """Every source in a fixed order, at most `MAX_FILES` of the first `MAX_FOLDERS`, those
        nearest to the roots first; the same object while none was added or removed. Costs a system
        call for each folder."""
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


MAX_SOURCE = 16 * 1024 * 1024
"""Characters; a longer source is skipped: it is data, not a manuscript."""

LISTED_SECONDS = 1.0
"""Seconds for which the list of a workspace's .bib files is reused."""

Overlay = Callable[[Path], str | None]
"""The text of an unsaved editor buffer, or None when the file is not open."""

FileVersion = tuple[int, int, int]


class _Source(msgspec.Struct):
    text: str
    version: FileVersion | None
    """Modification time, size and inode; None for a text from an editor."""


class FileCache:
    """Texts, scanned documents and parsed bibliographies by path.

    Keep one as long as the editor runs: an unchanged file is never read or scanned again, and a
    changed .bib costs only its changes. Not thread-safe.
    """

    def __init__(self, options: DocumentOptions | None = None) -> None:
        self.options = options or DocumentOptions()
        self._sources: dict[Path, _Source] = {}
        self._documents: dict[Path, tuple[str, dict[tuple[object, ...], Document]]] = {}
        self._bibs: dict[Path, BibFile] = {}
        self._keys: dict[Path, list[FileKeys]] = {}
        self._listings: dict[tuple[Path, ...], SourceFiles] = {}
        self._listed: dict[tuple[Path, ...], tuple[float, list[Path]]] = {}

    def listed_bibs(self, roots: tuple[Path, ...]) -> list[Path]:
        """The .bib files of a workspace; folders are checked at most once a second, since each of a
        thousand papers asks."""
        seen, found = self._listed.get(roots, (0.0, []))
        now = time.monotonic()
        if not seen or now - seen > LISTED_SECONDS:
            listing = self._listings.setdefault(roots, SourceFiles(roots))
            found = [path for path in listing.list() if path.suffix.lower() == ".bib"]
            self._listed[roots] = now, found
        return found

    def text(self, path: Path, overlay: Overlay | None = None) -> str | Problem | None:
        """The text of a file; None if it does not exist, a Problem if it cannot be read."""
        if overlay is not None and (text := overlay(path)) is not None:
            known = self._sources.get(path)
            if known is None or known.text != text:
                self._sources[path] = known = _Source(text, None)
            known.version = None
            return known.text
        try:
            status = path.stat()
        except (OSError, ValueError):
            self._sources.pop(path, None)
            return None
        version = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._sources.get(path)
        if known is not None and known.version == version:
            return known.text
        try:
            text = read_text(path).text
        except FileError as error:
            return error.problem
        self._sources[path] = _Source(text, version)
        return text

    def last_text(self, path: Path) -> str | None:
        """The last text read from a file, or None. Thread-safe."""
        known = self._sources.get(path)
        return known.text if known is not None else None

    def file_version(self, path: Path) -> FileVersion | None:
        """Version of the file as it was read. It is taken before the text is read, so that a file
        replaced meanwhile never passes for the one that was read. None if it was not read from
        disk."""
        known = self._sources.get(path)
        return known.version if known is not None else None

    def document(
        self,
        path: Path,
        text: str,
        *,
        cite_commands: Sequence[str] = (),
        packages: Sequence[str] = (),
        include_macros: Sequence[IncludeMacro] = (),
        defined_keys: frozenset[str] = frozenset(),
    ) -> Document:
        """The document of a file, scanned again only when its text or the given definitions
        changed."""
        commands = tuple(
            name for name in cite_commands if "\\" + parse_signature(name).name in text
        )
        loaded = tuple(name for name in packages if name == "apacite")
        macros = tuple(macro for macro in include_macros if "\\" + macro.name in text)
        depends = (commands, loaded, macros, defined_keys, self.options)
        known = self._documents.get(path)
        if known is None or (known[0] is not text and known[0] != text):
            self._documents[path] = known = (text, {})
        # A file is first scanned alone, then with the definitions of others: both are kept.
        scans = known[1]
        if depends not in scans:
            if len(scans) > 3:
                scans.clear()
            scans[depends] = scan_document(
                str(path),
                text,
                self.options,
                cite_commands=commands,
                packages=loaded,
                include_macros=macros,
                defined_keys=defined_keys,
            )
        return scans[depends]

    def bib(self, path: Path, text: str) -> BibFile:
        """The bibliography of a file; a changed text is parsed from the change on."""
        if path.suffix.lower() in CSL_SUFFIXES:
            return self.held_bib(path, text)
        known = self._bibs.get(path)
        if known is not None and (known.text is text or known.text == text):
            return known
        with reading(path.name, _entries_about(text, known)):
            parsed = reparse(known, text) if known is not None else parse_bib(text, str(path))
        self._bibs[path] = parsed
        return parsed

    def held_bib(self, path: Path, text: str, regions: tuple[Span, ...] = ()) -> BibFile:
        """The bibliography in these parts of a document, or of a CSL file."""
        known = self._bibs.get(path)
        if known is None or known.regions != regions or known.text != text:
            if format_of(path) is Format.LATEX:
                known = parse_regions(text, str(path), regions)
            else:
                known = parse_csl(text, str(path), next(iter(regions), None))
            self._bibs[path] = known
        return known

    def keys(self, path: Path, source: Document | BibFile, held: BibFile | None = None) -> FileKeys:
        """The places of keys in a document or bibliography; the same object for the same source. A
        document may contain a bibliography."""
        known = self._keys.setdefault(path, [])
        same = (k for k in known if k.source is source)
        found = next((k for k in same if isinstance(k, BibKeys) or k.held is held), None)
        if found is None:
            if isinstance(source, BibFile):
                found = BibKeys(path, source)
            else:
                found = DocumentKeys(path, source, held)
            # A document is scanned once alone and once for each set of macros.
            known[:] = [found] if isinstance(source, BibFile) else [*known[-2:], found]
        return found


def _entries_about(text: str, known: BibFile | None) -> int:
    """Estimated number of entries of a text, for a progress report: that before the edit. Counting
    them in a large file would take half the time of parsing it again."""
    if known is not None and 2 * len(known.text) > len(text):
        return len(known.entries)
    return text.count("\n@")


_BINARY = re.compile("[\x00\x01\x02\x03]")


def is_source(text: str) -> bool:
    """True for text that can be a manuscript: not too long and not binary."""
    return len(text) <= MAX_SOURCE and _BINARY.search(text, 0, 4_096) is None
