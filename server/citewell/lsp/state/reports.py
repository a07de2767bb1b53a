"""The diagnostics of each file, computed again only after a relevant change.

Two steps on two threads: the reader finds the projects of a file; a background thread, for which no
hover waits, computes and encodes the diagnostics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from citewell.documents.project.paper_project import Project
from citewell.features.checking import check
from citewell.features.checking.check import CheckOf, diagnose
from citewell.features.checking.codes import CODES as REVIEW_CODES
from citewell.features.checking.codes import OWN
from citewell.features.checking.lint import CODES as LINT_CODES
from citewell.features.checking.lint_rule import unknown_codes
from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.registry import left_diagnostics
from citewell.lsp.state.memory import ReviewedFiles
from citewell.lsp.state.report_wire import Report, encoded, result_id
from citewell.model import Problem
from citewell.model.bib import BibFile
from citewell.model.document import Document, Format, Level
from citewell.options.tree import DiagnosticsOptions, FeatureOptions
from citewell.options.values import nearest

# The codes of all that an editor underlines.

CODES = (*LINT_CODES, *check.CODES)
"""All codes of the editor's diagnostics."""


def wrong_codes(options: DiagnosticsOptions) -> list[Problem]:
    """The names in `diagnostics.severity` that are no codes, each with the nearest one."""
    problems = []
    for name in unknown_codes(options.severity, REVIEW_CODES):
        close = nearest(name, REVIEW_CODES)
        hint = f'Did you mean "{close}"?' if close else "See docs/diagnostics.md for the codes."
        problems.append(Problem("diagnostic-unknown", f'Unknown diagnostic code "{name}".', hint))
    return problems


MAX_REPORTS = 2_000


class ReportRequest(Struct, frozen=True, eq=False):
    """The conditions of a report, beside the file."""

    options: DiagnosticsOptions
    features: FeatureOptions
    encoding: str
    generation: int
    """Increases with new checks, and with each review."""
    check_of: CheckOf | None
    reviewed: ReviewedFiles
    tags: bool
    related: bool


class _Known(Struct, frozen=True, eq=False):
    subject: Subject
    setting: tuple[object, ...]
    report: Report


class Subject(Struct, frozen=True, eq=False):
    """A file and its projects, as found on the reader thread. Immutable."""

    source: Document | BibFile
    projects: tuple[Project, ...]
    index: LineIndex | None
    """Positions in an open file; None for a closed one."""


def subject_of(cache: ProjectCache, reading: DocumentInput, index: LineIndex) -> Subject:
    """The subject of an open file. For the reader thread."""
    workspace = cache.workspace(reading)
    projects = workspace.of(reading.path)
    if reading.is_bib:
        projects = tuple(project for project in projects if reading.path in project.bibs)
        return Subject(cache.bib(reading), projects, index)
    return Subject(projects[0].documents[reading.path], projects, index)


def closed_subjects(
    cache: ProjectCache, reading: DocumentInput, paths: Sequence[Path]
) -> list[Subject | None]:
    """The subjects of closed files; None for a missing one. `reading` is that of any open file, or
    of none: it has the editor's texts. For the reader thread."""
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
    """Builds one report per file. For one thread, which may be busy for long: never the reader."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def of(self, subject: Subject, wanted: ReportRequest) -> Report:
        """The report of a file; for a closed one, without hints."""
        path = Path(subject.source.path)
        setting = (
            wanted.options, wanted.features, wanted.encoding, wanted.tags, wanted.related,
            wanted.generation, subject.index is None,
        )  # fmt: skip
        known = self._known.pop(path, None)
        if known is None or known.setting != setting or not _same(known.subject, subject):
            report = self._find(wanted, subject.source, subject.projects, subject.index)
            known = _Known(subject, setting, report)
        self._known[path] = known
        while len(self._known) > MAX_REPORTS:
            self._known.popitem(last=False)
        return known.report

    @staticmethod
    def _find(
        wanted: ReportRequest,
        source: Document | BibFile,
        projects: Sequence[Project],
        index: LineIndex | None,
    ) -> Report:
        kind = Format.BIBTEX if isinstance(source, BibFile) else source.format
        options = left_diagnostics(wanted.features, wanted.options, kind)
        # The rest of a review has its own diagnostics, which follow the text.
        own = [one for one in wanted.reviewed.of(source) if one.code in OWN and one.span.end]
        found = diagnose(source, projects, options, wanted.check_of, own)
        if index is None:
            found = [one for one in found if one.level is not Level.HINT]
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
        return Report(items, result_id(items), tuple(projects), source)


def _same(one: Subject, other: Subject) -> bool:
    return one.source is other.source and (
        len(one.projects) == len(other.projects)
        and all(a is b for a, b in zip(one.projects, other.projects, strict=True))
    )
