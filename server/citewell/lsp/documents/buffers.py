"""The author's files in the editor: the open documents, their texts and their settings.

An editor that applies an edit to a file that it does not show sends no further notification about
that file; the edited text is then assumed until the file changes on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from pygls.exceptions import JsonRpcContentModified
from pygls.uris import from_fs_path, to_fs_path

from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.open_document import LineIndex, OpenDocument
from citewell.lsp.protocol.wire import Location, Range
from citewell.model.document import LANGUAGE_SUFFIXES
from citewell.options import Options
from citewell.options.folders import working_folder

if TYPE_CHECKING:
    from citewell.documents.keys.table import KeyTable
    from citewell.lsp.documents.project_state import DocumentInput, LinkedProjects, ProjectState
    from citewell.model.document import Document, Span

# Detection of changed files on disk.


def read_file_version(path: Path) -> object:
    """The version of a file on disk, which differs after a change; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def is_empty(path: Path) -> bool:
    """True for an existing empty file."""
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


# One version of a scanned document with its papers: the input of handlers.


class OpenFile:
    """The editor's URI and the version of an open file."""

    def __init__(self, uri: str, version: int | None) -> None:
        self.uri = uri
        self.version = version


class Snapshot(Struct, frozen=True, eq=False):
    """One version of a document with its paper. Immutable."""

    uri: str
    path: Path
    version: int | None
    document: Document
    state: ProjectState
    index: LineIndex
    options: Options
    file_versions: tuple[tuple[Path, object], ...]
    """Versions of the bibliographies on disk, as read."""

    @property
    def is_fresh(self) -> bool:
        """False when a bibliography has changed on disk."""
        return all(read_file_version(path) == version for path, version in self.file_versions)


class WorkspaceSnapshot(Struct, frozen=True, eq=False):
    """One version of a document or .bib with everything that its keys may concern. Immutable."""

    uri: str
    path: Path
    version: int | None
    linked: LinkedProjects
    """The scanned file, its projects, and those that share a .bib with them."""
    index: LineIndex
    options: Options
    opened: Mapping[Path, OpenFile]
    """The files open in the editor at that time."""

    @property
    def keys(self) -> KeyTable:
        """Every key of the projects with the file, with its citations and definitions."""
        return self.linked.keys


class Locator:
    """Converts places in the files of a snapshot to the protocol's locations."""

    def __init__(self, snapshot: WorkspaceSnapshot) -> None:
        self._snapshot = snapshot
        self._indexes = {snapshot.path: snapshot.index}

    def uri(self, path: Path) -> str:
        """The editor's URI of a file."""
        opened = self._snapshot.opened.get(path)
        return opened.uri if opened is not None else from_fs_path(str(path)) or ""

    def index(self, path: Path) -> LineIndex:
        """The positions in a file of the snapshot; empty for one that was not read."""
        found = self._indexes.get(path)
        if found is None:
            file = self._snapshot.linked.all_keys.files.get(path)
            text = file.source.text if file is not None else ""
            found = self._indexes[path] = LineIndex(text, self._snapshot.index.encoding)
        return found

    def range(self, path: Path, span: Span) -> Range:
        return self.index(path).wire_range(span)

    def location(self, path: Path, span: Span) -> Location:
        return Location(self.uri(path), self.range(path, span))


class Buffers:
    """The editor's documents by path. For the event loop."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._assumed: dict[Path, tuple[object, str]] = {}
        self._allowed: set[Path] = set()
        self.epoch = 0
        """Increases with every change of a file other than the requested one."""
        self.watchers: list[Callable[[str], None]] = []
        """Called with the URI of a changed document, or with "" for any other change."""

    def changed(self, uri: str = "", *, others: bool = True) -> None:
        """Notify the watchers of a change; `others`: other documents may depend on it."""
        if others:
            self.epoch += 1
        for watcher in self.watchers:
            watcher(uri)

    def path_of(self, uri: str) -> Path | None:
        """The file of a document; for an unsaved one, its future path."""
        if uri.startswith("file:"):
            return _path_of_file(uri)
        roots = self._editor.roots
        document = self._editor.open_document(uri)
        if not roots or document is None:
            return None
        suffix = LANGUAGE_SUFFIXES.get(document.language_id or "", "")
        return roots[-1] / f"untitled-{abs(hash(uri)) % 10**6}{suffix}" if suffix else None

    def root_of(self, path: Path) -> Path | None:
        """The workspace folder of a file."""
        return next((root for root in self._editor.roots if path.is_relative_to(root)), None)

    def options_for(self, path: Path) -> Options:
        """The settings for a file."""
        return self._editor.settings.of(self.root_of(path), path)

    def open_document(self, path: Path) -> OpenDocument | None:
        """The open document of a file."""
        found = self._editor.documents.opened.items()
        return next((document for uri, document in found if self.path_of(uri) == path), None)

    def workspace_options(self) -> Options:
        """The settings of the engine: those of the outermost workspace folder."""
        roots = self._editor.roots
        return self._editor.settings.of(roots[-1] if roots else None)

    def options_of(self, uri: str) -> Options:
        """The settings for a document; those of the workspace where it has no file."""
        path = self.path_of(uri) if uri else None
        return self.workspace_options() if path is None else self.options_for(path)

    def opened(self) -> dict[Path, OpenFile]:
        """The files open in the editor."""
        return {
            found: OpenFile(uri, document.version)
            for uri, document in self._editor.documents.opened.items()
            if (found := self.path_of(uri)) is not None
        }

    def own_folders(self) -> frozenset[Path]:
        """Writable folders outside the workspace: those of open files, and those that the author
        has allowed."""
        opened = (path.parent for path in self.opened() if self.root_of(path) is None)
        return frozenset(opened) | frozenset(self._allowed)

    def allow(self, folder: Path) -> None:
        """Make a folder outside the workspace writable, at the author's request."""
        self._allowed.add(folder)
        self.epoch += 1

    def marks(self, uri: str) -> tuple[str, ...]:
        """The author's own markers for a citation."""
        path = self.path_of(uri)
        return () if path is None else self.options_for(path).documents.placeholders

    def texts(self) -> dict[Path, str]:
        """The texts of all open documents, and of files just edited through the editor, by path."""
        for path, (version, _) in list(self._assumed.items()):
            if read_file_version(path) != version:
                del self._assumed[path]
        texts = {path: text for path, (_, text) in self._assumed.items()}
        for uri, document in self._editor.documents.opened.items():
            found = self.path_of(uri)
            if found is not None:
                texts[found] = document.source
        return texts

    def assume(self, path: Path, text: str, before: object) -> None:
        """Assume this text for a file that the editor edited and may not show, until the file
        changes on disk. `before` is its version before the edit: a file that changed since was
        written by the editor, or by another program, and is read as it is."""
        now = read_file_version(path)
        if now == before or (before is None and is_empty(path)):
            self._assumed[path] = (now, text)

    def reading(self, uri: str) -> tuple[DocumentInput, OpenDocument] | None:
        """The input of the reader thread for an open document or .bib; None if it is not open."""
        document = self._editor.open_document(uri)
        path = self.path_of(uri)
        if document is None or path is None:
            return None
        return self.reading_of(document, path), document

    def workspace_reading(self) -> DocumentInput:
        """The input for closed files: settings, and texts of other buffers."""
        from citewell.lsp.documents.project_state import DocumentInput

        roots = self._editor.roots
        return DocumentInput(
            path=(roots[-1] if roots else working_folder()) / ".citewell-no-file",
            text="",
            texts=self.texts(),
            roots=tuple(roots),
            options=self.workspace_options(),
            epoch=self.epoch,
            own_folders=self.own_folders(),
        )

    def reading_of(self, document: OpenDocument, path: Path) -> DocumentInput:
        """The input for an open document with a known path."""
        from citewell.lsp.documents.project_state import DocumentInput

        return DocumentInput(
            path=path,
            text=document.source,
            texts=self.texts(),
            roots=tuple(self._editor.roots),
            options=self.options_for(path),
            epoch=self.epoch,
            is_bib=is_bibliography(document, path),
            own_folders=self.own_folders(),
        )

    def refuse_outdated(self, snapshot: WorkspaceSnapshot) -> None:
        """Raise `JsonRpcContentModified` if the document was edited or closed after the snapshot;
        the editor then repeats the request."""
        document = self._editor.open_document(snapshot.uri)
        if document is None or document.version != snapshot.version:
            raise JsonRpcContentModified("The document has changed")

    def forget(self, path: Path) -> None:
        """Drop the assumed text of a file."""
        self._assumed.pop(path, None)


@lru_cache(maxsize=4096)
def _path_of_file(uri: str) -> Path | None:
    # Each request needs the paths of all open documents: parsing the URIs took a fifth of a hover.
    found = to_fs_path(uri)
    return Path(os.path.abspath(found)) if found else None  # noqa: PTH100


def is_bibliography(document: OpenDocument, path: Path) -> bool:
    """True for a .bib rather than a manuscript."""
    return path.suffix.lower() == ".bib" or document.language_id in ("bib", "bibtex", "biblatex")
