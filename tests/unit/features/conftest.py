"""A workspace from one string, with the key under its cursor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.keys.table import KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.model.document import Span


class Written:
    """The files of a fixture on disk, with the tables that the language server would make."""

    def __init__(self, fixture: Any, folder: Path) -> None:
        self.fixture = fixture
        self.folder = fixture.write(folder)
        self.workspace = Workspace(FileCache(), roots=[folder])
        self.workspace.refresh(lambda path: None)

    @property
    def path(self) -> Path:
        """The file in which the cursor stands."""
        return self.folder / self.fixture.cursor_file

    @property
    def cursor(self) -> int:
        return self.fixture.cursor

    @property
    def projects(self) -> tuple[Project, ...]:
        return self.workspace.of(self.path)

    @property
    def table(self) -> KeyTable:
        """Every key of the projects of the cursor's file, and of those that share a .bib."""
        sharing = self.workspace.sharing(self.projects)
        groups = [(*p.documents, *p.bibs) for p in sharing]
        return KeyTable(self.workspace.keys(sharing), groups)

    def show(self, path: Path | str, span: Span) -> str:
        """ "main.tex 3 word": file, line, and the text of the range."""
        text = Path(path).read_bytes().decode("utf-8")
        name = Path(path).relative_to(self.folder).as_posix()
        return f"{name} {text.count(chr(10), 0, span.start) + 1} {text[span.start : span.end]}"


@pytest.fixture
def write_files(fixture_files: Callable[..., Any], tmp_path: Path) -> Callable[[str], Written]:
    """`write_files(text)` writes the fixture and reads it as a workspace."""
    return lambda text: Written(fixture_files(text), tmp_path / "w")
