"""The files of a project, read once: from the editor's buffers if open there, else from disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.keys.table import BibKeys, DocumentKeys, FileKeys
from citewell.documents.latex.commands import parse_signature
from citewell.documents.scan import scan_document
from citewell.documents.textfile import FileError, read_text
from citewell.model.bib import BibFile
from citewell.model.document import Document, IncludeMacro
from citewell.model.problem import Problem
from citewell.model.read_progress import ReadCancelled, reading
from citewell.options.tree import DocumentOptions

MAX_SOURCE = 16 * 1024 * 1024
"""A larger source is passed over: it is data, no manuscript."""

Overlay = Callable[[Path], str | None]
"""The text of an unsaved editor buffer, or None when the file is not open."""

FileVersion = tuple[int, int, int]


class _Source(msgspec.Struct):
    text: str
    version: FileVersion | None
    """Modification time, size and inode; None for a text that came from an editor."""


class FileCache:
    """Texts, scanned documents and parsed bibliographies by path.

    Keep one for as long as the editor runs: a file whose text has not changed is never read or
    scanned again, and a changed .bib costs what changed in it. Not safe for use from two threads
    at once.
    """

    def __init__(self, options: DocumentOptions | None = None) -> None:
        self.options = options or DocumentOptions()
        self._sources: dict[Path, _Source] = {}
        self._documents: dict[Path, tuple[str, dict[tuple[object, ...], Document]]] = {}
        self._bibs: dict[Path, BibFile] = {}
        self._keys: dict[Path, list[FileKeys]] = {}
        self._cancelled: dict[Path, tuple[str, Problem]] = {}
        """Texts of bibliographies whose reading was cancelled."""

    def text(self, path: Path, overlay: Overlay | None = None) -> str | Problem | None:
        """The text of a file; None when there is no such file, a Problem when it cannot be read, or
        when reading just this text was cancelled."""
        found = self._text(path, overlay)
        if path in self._cancelled:
            text, problem = self._cancelled[path]
            return problem if found is text or found == text else found
        return found

    def cancelled(self) -> list[Problem]:
        """The bibliographies whose reading was cancelled."""
        return [problem for _, problem in self._cancelled.values()]

    def try_again(self, path: Path | None = None) -> None:
        """Read a bibliography after all, or every one."""
        if path is None:
            self._cancelled.clear()
        self._cancelled.pop(path or Path(), None)

    def _text(self, path: Path, overlay: Overlay | None) -> str | Problem | None:
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
        """The text of a file as it was read last; None when it was not. For any thread."""
        known = self._sources.get(path)
        return known.text if known is not None else None

    def file_version(self, path: Path) -> FileVersion | None:
        """Of the file as it was read: taken before its text was, so that a file which is replaced
        meanwhile never passes for the one that was read. None when it was not read from disk."""
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
    ) -> Document:
        """The document of a file, scanned again only when its text or what bears on it changed."""
        commands = tuple(
            name for name in cite_commands if "\\" + parse_signature(name).name in text
        )
        loaded = tuple(name for name in packages if name == "apacite")
        macros = tuple(macro for macro in include_macros if "\\" + macro.name in text)
        depends = (commands, loaded, macros, self.options)
        known = self._documents.get(path)
        if known is None or (known[0] is not text and known[0] != text):
            self._documents[path] = known = (text, {})
        # A file is scanned first by itself, then with what the others define: both are kept.
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
            )
        return scans[depends]

    def bib(self, path: Path, text: str) -> BibFile:
        """The bibliography of a file; a changed text is read from where it changed. One
        whose reading was cancelled has no entries. Raises `ReadCancelled` when the author cancels
        now."""
        known = self._bibs.get(path)
        if known is not None and (known.text is text or known.text == text):
            return known
        passed = self._cancelled.get(path)
        if passed is not None and passed[0] == text:
            return BibFile(str(path), text)
        try:
            with reading(path.name, _entries_about(text, known)):
                parsed = reparse(known, text) if known is not None else parse_bib(text, str(path))
        except ReadCancelled:
            self._cancelled[path] = text, _read_cancelled(path)
            raise
        self._cancelled.pop(path, None)
        self._bibs[path] = parsed
        return parsed

    def keys(self, path: Path, source: Document | BibFile) -> FileKeys:
        """The places of keys in a document or bibliography; the same object for the same source."""
        known = self._keys.setdefault(path, [])
        found = next((keys for keys in known if keys.source is source), None)
        if found is None:
            if isinstance(source, BibFile):
                found = BibKeys(path, source)
            else:
                found = DocumentKeys(path, source)
            # A document is scanned once by itself and once for each set of macros.
            known[:] = [found] if isinstance(source, BibFile) else [*known[-2:], found]
        return found


def _entries_about(text: str, known: BibFile | None) -> int:
    """How many entries a text has, for the progress of reading it: about as many as before an edit.
    To count them in a large file would take half of the time of reading it again."""
    if known is not None and 2 * len(known.text) > len(text):
        return len(known.entries)
    return text.count("\n@")


def _read_cancelled(path: Path) -> Problem:
    return Problem(
        "bib-read-cancelled",
        f"Reading {path.name} was cancelled; its entries are unknown.",
        "Citewell reads it when you open or change it.",
        str(path),
    )


_BINARY = re.compile("[\x00\x01\x02\x03]")


def is_source(text: str) -> bool:
    """True for text that may be a manuscript: not too long and not binary."""
    return len(text) <= MAX_SOURCE and _BINARY.search(text, 0, 4_096) is None
