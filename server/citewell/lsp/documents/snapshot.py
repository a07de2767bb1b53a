"""One version of a document, as scanned, with the papers it belongs to. What handlers work on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from pygls.uris import from_fs_path

from citewell.lsp.documents.file_version import read_file_version
from citewell.lsp.protocol.line_index import LineIndex
from citewell.lsp.protocol.wire import Location, Range
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.documents.keys.table import KeyTable
    from citewell.lsp.documents.project_state import LinkedProjects, ProjectState
    from citewell.model.document import Document, Span


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
