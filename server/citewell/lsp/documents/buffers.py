"""The author's files as the editor holds them: which are open, their texts and their settings.

An editor that applies an edit to a file that it does not show sends no further notification about
that file; its text is then assumed until the file changes on disk.
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
from citewell.model.flavours import LANGUAGE_SUFFIXES
from citewell.options import Options
from citewell.options.folders import working_folder

if TYPE_CHECKING:
    from citewell.documents.keys.table import KeyTable
    from citewell.lsp.documents.project_state import DocumentInput, LinkedProjects, ProjectState
    from citewell.model.document import Document, Span

# Telling whether a file on disk has changed.


def read_file_version(path: Path) -> object:
    """What changes when a file on disk changes; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def is_empty(path: Path) -> bool:
    """True for a file that is there and holds nothing yet."""
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


# One version of a document, as scanned, with the papers it belongs to. What handlers work on.


class OpenFile:
    """What the editor calls an open file, and which version of it was read."""

    def __init__(self, uri: str, version: int | None) -> None:
        self.uri = uri
        self.version = version


class Snapshot(Struct, frozen=True, eq=False):
    """One version of one document with the paper it belongs to. Immutable."""

    uri: str
    path: Path
    version: int | None
    document: Document
    state: ProjectState
    index: LineIndex
    options: Options
    file_versions: tuple[tuple[Path, object], ...]
    """Of the bibliographies on disk, as they were read."""

    @property
    def is_fresh(self) -> bool:
        """False when a bibliography has changed on disk since."""
        return all(read_file_version(path) == version for path, version in self.file_versions)


class WorkspaceSnapshot(Struct, frozen=True, eq=False):
    """One version of one document or .bib with all that its keys may concern. Immutable."""

    uri: str
    path: Path
    version: int | None
    linked: LinkedProjects
    """The file as scanned, its projects, and those that share a .bib with them."""
    index: LineIndex
    options: Options
    opened: Mapping[Path, OpenFile]
    """The files that the editor had open then."""

    @property
    def keys(self) -> KeyTable:
        """Every key of the projects that hold the file: for each where it is cited and defined."""
        return self.linked.keys


class Locator:
    """Places in the files of a snapshot as the protocol's locations."""

    def __init__(self, snapshot: WorkspaceSnapshot) -> None:
        self._snapshot = snapshot
        self._indexes = {snapshot.path: snapshot.index}

    def uri(self, path: Path) -> str:
        """The address under which the editor knows a file."""
        opened = self._snapshot.opened.get(path)
        return opened.uri if opened is not None else from_fs_path(str(path)) or ""

    def index(self, path: Path) -> LineIndex:
        """The positions in a file of the snapshot; of no text for one that was not read."""
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
        """Rises with every change of a file other than the one that is asked about."""
        self.watchers: list[Callable[[str], None]] = []
        """Called with the URI of a document that changed, or with "" for anything else."""

    def changed(self, uri: str = "", *, others: bool = True) -> None:
        """Notify the watchers of a change; `others`: other documents may depend on it."""
        if others:
            self.epoch += 1
        for watcher in self.watchers:
            watcher(uri)

    def path_of(self, uri: str) -> Path | None:
        """The file of a document; for one that has no file yet, where it would be saved."""
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
        """The files that the editor has open now."""
        return {
            found: OpenFile(uri, document.version)
            for uri, document in self._editor.documents.opened.items()
            if (found := self.path_of(uri)) is not None
        }

    def own_folders(self) -> frozenset[Path]:
        """Folders outside of the workspace that may be written: a file that the editor has open is
        the author's, and some others the author has allowed."""
        opened = (path.parent for path in self.opened() if self.root_of(path) is None)
        return frozenset(opened) | frozenset(self._allowed)

    def allow(self, folder: Path) -> None:
        """The author wants a folder outside of the workspace to be written."""
        self._allowed.add(folder)
        self.epoch += 1

    def marks(self, uri: str) -> tuple[str, ...]:
        """The author's own stand-ins for a citation."""
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
        """The editor took an edit of a file that it may not show to us: this is what it holds now,
        until the file changes on disk. `before` is its version before the edit: one that
        changed since was written by the editor, or by another program, and counts as it is."""
        now = read_file_version(path)
        if now == before or (before is None and is_empty(path)):
            self._assumed[path] = (now, text)

    def reading(self, uri: str) -> tuple[DocumentInput, OpenDocument] | None:
        """What the reader thread needs to read an open document or .bib; None when it is not."""
        document = self._editor.open_document(uri)
        path = self.path_of(uri)
        if document is None or path is None:
            return None
        return self.reading_of(document, path), document

    def workspace_reading(self) -> DocumentInput:
        """The reading of what the editor does not show: settings, and texts of other buffers."""
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
        """The reading of an open document with a known path."""
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
        """Raise `JsonRpcContentModified` if the document was edited or closed since the snapshot;
        the editor then asks again."""
        document = self._editor.open_document(snapshot.uri)
        if document is None or document.version != snapshot.version:
            raise JsonRpcContentModified("The document has changed")

    def forget(self, path: Path) -> None:
        """Assume nothing more of a file."""
        self._assumed.pop(path, None)


@lru_cache(maxsize=4096)
def _path_of_file(uri: str) -> Path | None:
    # Each request asks for the paths of all open documents: to parse the addresses took a fifth of
    # a hover.
    found = to_fs_path(uri)
    return Path(os.path.abspath(found)) if found else None  # noqa: PTH100


def is_bibliography(document: OpenDocument, path: Path) -> bool:
    """True for a .bib, which is no manuscript."""
    return path.suffix.lower() == ".bib" or document.language_id in ("bib", "bibtex", "biblatex")
