"""The lint of whole papers, for commands and reports: what editors underline, with line numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.documents.project.files import FileCache, SourceFiles
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.scan import format_of
from citewell.documents.textfile import is_stream
from citewell.features.checking.lint import lint
from citewell.model.bib import BibFile
from citewell.model.document import Diagnostic, Format, Level
from citewell.model.system.files import FileError
from citewell.options.tree import DocumentOptions


class LocatedDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnostic as a person or another program finds it."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in characters."""
    code: str
    level: Level
    message: str


def lint_papers(
    paths: Sequence[Path],
    options: DocumentOptions | None = None,
    levels: Mapping[str, str] | None = None,
) -> list[LocatedDiagnostic]:
    """All diagnostics of the papers, their parts and their .bib files, file by file.

    `levels` are the settings' `diagnostics.severity`. Hints are left out. Other files than papers
    and folders have none; what cannot be read is a problem of the check.
    """
    found: dict[LocatedDiagnostic, None] = {}
    for path in paths:
        try:
            for project in _projects_of(path, options or DocumentOptions()):
                found |= dict.fromkeys(lint_project(project, levels or {}))
        except FileError:
            continue
    return list(found)


def _projects_of(path: Path, options: DocumentOptions) -> Sequence[Project]:
    if path.is_dir():
        roots = [absolute(path)]
        workspace = Workspace(FileCache(options), roots=roots)
        workspace.refresh(lambda path: None, opened=SourceFiles(roots).list())
        return workspace.projects
    if is_stream(path) or format_of(path) not in (Format.LATEX, Format.MARKDOWN):
        return ()
    return [Project.open(path, options)]


def lint_project(project: Project, levels: Mapping[str, str]) -> Iterator[LocatedDiagnostic]:
    """The diagnostics of a paper, its parts and its .bib files; hints are left out."""
    for document in project.documents.values():
        yield from _located(lint(document, [project], levels), document.path, document.text)
    for bib in project.bibliographies:
        yield from lint_one_bib(bib, levels, [project])


def lint_one_bib(
    bib: BibFile, levels: Mapping[str, str], projects: Sequence[Project] = ()
) -> Iterator[LocatedDiagnostic]:
    """The diagnostics of a .bib, which these papers use; hints are left out."""
    return _located(lint(bib, projects, levels), bib.path, bib.text)


def _located(
    diagnostics: Sequence[Diagnostic], path: str, text: str
) -> Iterator[LocatedDiagnostic]:
    for one in diagnostics:
        if one.level is Level.HINT:
            continue
        begins = text.rfind("\n", 0, one.span.start) + 1
        yield LocatedDiagnostic(
            path=str(path),
            line=text.count("\n", 0, one.span.start) + 1,
            column=one.span.start - begins + 1,
            code=one.code,
            level=one.level,
            message=one.message,
        )
