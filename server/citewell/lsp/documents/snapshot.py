"""One version of a document, as scanned, with the papers it belongs to. What handlers work on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.documents.file_version import read_file_version
from citewell.lsp.protocol.line_index import LineIndex
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.documents.keys.table import KeyTable
    from citewell.lsp.documents.project_state import LinkedProjects, ProjectState
    from citewell.model.document import Document


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
