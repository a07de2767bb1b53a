"""The diagnostics of each file, found again only when something that bears on them has changed.

Two steps on two threads: the reader says which projects hold a file; another, for which no hover
waits, finds and encodes what is wrong in it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from citewell.documents.project.paper_project import Project
from citewell.features.checking.diagnose import unsorted_diagnostics
from citewell.features.checking.lint_rule import LintPaper
from citewell.features.checking.verify import CheckOf, invented_keys
from citewell.features.display.coexist import left_diagnostics
from citewell.lsp.diagnostics.wire import Report, encoded
from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
from citewell.lsp.protocol.line_index import LineIndex
from citewell.model.bib import BibFile
from citewell.model.diagnostic import Level
from citewell.model.document import Document, Format
from citewell.options.editor import DiagnosticsOptions, FeatureOptions

MAX_REPORTS = 2_000


class ReportRequest(Struct, frozen=True, eq=False):
    """What a report is to be made for, beside the file."""

    options: DiagnosticsOptions
    features: FeatureOptions
    encoding: str
    generation: int
    """Rises when more is known about references."""
    check_of: CheckOf | None
    tags: bool
    related: bool


class _Known(Struct, frozen=True, eq=False):
    source: Document | BibFile
    projects: tuple[Project, ...]
    bearing: object
    """Of a .bib: what of the papers bears on its diagnostics."""
    setting: object
    generation: int
    invented: object
    """Of a manuscript: what is known against the entries that it cites."""
    report: Report


class Subject(Struct, frozen=True, eq=False):
    """A file and the projects that hold it, as the reader thread found them. Immutable."""

    source: Document | BibFile
    projects: tuple[Project, ...]
    index: LineIndex | None
    """Positions in an open file; None for one that the editor does not show."""


def subject_of(cache: ProjectCache, reading: DocumentInput, index: LineIndex) -> Subject:
    """An open file. For the reader thread."""
    workspace = cache.workspace(reading)
    projects = workspace.of(reading.path)
    if reading.is_bib:
        projects = tuple(project for project in projects if reading.path in project.bibs)
        return Subject(cache.bib(reading), projects, index)
    return Subject(projects[0].documents[reading.path], projects, index)


def closed_subjects(
    cache: ProjectCache, reading: DocumentInput, paths: Sequence[Path]
) -> list[Subject | None]:
    """Files that the editor does not show; None for one that is gone. `reading` is that of any open
    file, or of none: it says what the editor holds. For the reader thread."""
    workspace = cache.workspace(reading)
    bibs = {Path(bib.path): bib for bib in workspace.bibs(paths)}
    found: list[Subject | None] = []
    for path in paths:
        projects = workspace.of(path)
        source: Document | BibFile | None
        if path in bibs and not bibs[path].regions:
            projects = tuple(project for project in projects if path in project.bibs)
            source = bibs[path]
        else:
            source = next((p.documents[path] for p in projects if path in p.documents), None)
        found.append(None if source is None else Subject(source, projects, None))
    return found


def files_of(cache: ProjectCache, reading: DocumentInput) -> list[Path]:
    """Every manuscript and every bibliography of the workspace. For the reader thread."""
    workspace = cache.workspace(reading)
    found = {path: None for project in workspace.projects for path in project.documents}
    found.update((Path(bib.path), None) for bib in workspace.bibs())
    return list(found)


class DiagnosticsBuilder:
    """One report per file. For one thread, which may be busy for long: never the reader."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def of(self, subject: Subject, wanted: ReportRequest) -> Report:
        """The report of a file; of one that is closed without hints."""
        return self._report(wanted, subject.source, subject.projects, subject.index)

    def _report(
        self,
        wanted: ReportRequest,
        source: Document | BibFile,
        projects: tuple[Project, ...],
        index: LineIndex | None,
    ) -> Report:
        path = Path(source.path)
        has_entries = isinstance(source, BibFile) or any(path in one.bibs for one in projects)
        of_references = wanted.generation if has_entries else 0
        setting = (
            (wanted.options, wanted.features, wanted.encoding, wanted.tags, wanted.related),
            of_references,
            index is None,
        )
        known = self._known.pop(path, None)
        invented = self._invented(wanted, source, projects, known)
        if known is not None and (
            known.setting != setting or known.source is not source or known.invented != invented
        ):
            known = None
        bearing: object = None
        if known is None or not _same(known.projects, projects):
            if isinstance(source, BibFile):
                bearing = _bearing(source, projects)
            if known is None or bearing is None or known.bearing != bearing:
                report = self._find(wanted, source, projects, index)
            else:
                report = Report(known.report.packed, known.report.result_id, projects, source)
            known = _Known(source, projects, bearing, setting, wanted.generation, invented, report)
        elif known.generation != wanted.generation:
            known = replace(known, generation=wanted.generation)
        self._known[path] = known
        while len(self._known) > MAX_REPORTS:
            self._known.popitem(last=False)
        return known.report

    @staticmethod
    def _invented(
        wanted: ReportRequest,
        source: Document | BibFile,
        projects: tuple[Project, ...],
        known: _Known | None,
    ) -> object:
        """What is known against the entries that a manuscript cites; of a .bib all that is known
        counts, and is no matter of this."""
        if isinstance(source, BibFile) or wanted.check_of is None:
            return ()
        if (
            known is not None
            and known.generation == wanted.generation
            and known.source is source
            and _same(known.projects, projects)
        ):
            return known.invented
        return invented_keys(source, projects, wanted.check_of)

    @staticmethod
    def _find(
        wanted: ReportRequest,
        source: Document | BibFile,
        projects: Sequence[Project],
        index: LineIndex | None,
    ) -> Report:
        kind = Format.BIBTEX if isinstance(source, BibFile) else source.format
        options = left_diagnostics(wanted.features, wanted.options, kind)
        found = unsorted_diagnostics(source, projects, options, wanted.check_of)
        if index is None:
            found = (one for one in found if one.level is not Level.HINT)
        indexes: dict[Path, LineIndex | None] = {}
        if index is not None:
            indexes[Path(source.path)] = index

        def index_of(path: Path) -> LineIndex | None:
            if path not in indexes:
                text = next((p.bibs[path].text for p in projects if path in p.bibs), None)
                if text is None and path == Path(source.path):
                    text = source.text
                indexes[path] = LineIndex(text, wanted.encoding) if text is not None else None
            return indexes[path]

        items = encoded(
            found, Path(source.path), index_of, tags=wanted.tags, related=wanted.related
        )
        return Report.of(items, tuple(projects), source)


def _same(one: Sequence[Project], other: Sequence[Project]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


class _Identity:
    """Stands for an object: equal to the same one only."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._value is self._value

    __hash__ = None  # type: ignore[assignment]


def _bearing(bib: BibFile, projects: Sequence[Project]) -> object:
    """What of the papers bears on the diagnostics of their .bib: most letters that are typed in a
    manuscript change none of it."""
    paper = LintPaper(projects)
    return (
        [[(path, _Identity(other)) for path, other in p.bibs.items()] for p in projects],
        paper.cited,
        paper.nocite_all,
        paper.is_biblatex,
        paper.folds_case,
        [project.declares_bibs for project in projects],
    )
