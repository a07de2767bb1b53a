"""The open projects and what features compute from them, as the reader thread holds them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

from citewell.documents.keys.index import KeyIndex
from citewell.documents.keys.table import KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import MAX_OPEN, Workspace
from citewell.features.navigation.symbols import Symbol, workspace_symbols
from citewell.lsp.documents.bib_tables import tables_of
from citewell.lsp.documents.project_state import LinkedProjects, ProjectState, Reading
from citewell.model import Problem
from citewell.model.bib import BibFile
from citewell.model.document import Document
from citewell.options import Options


class ProjectCache:
    """One `Workspace` for each settings, and the state and key table of each open file. For one
    thread."""

    def __init__(self) -> None:
        self._caches: dict[object, FileCache] = {}
        self._states: OrderedDict[Path, ProjectState] = OrderedDict()
        self._workspaces: dict[object, Workspace] = {}
        self._entries: KeyIndex | None = None
        """Of the whole workspace."""
        self._tables: OrderedDict[tuple[Path, bool], KeyTable] = OrderedDict()

    def read(self, wanted: Reading, *, rescan: bool = False) -> tuple[Document, ProjectState]:
        """The document with its present text, and its project (`Workspace.open_file`)."""
        document, project = self._workspace(wanted).open_file(
            wanted.path, wanted.overlay, wanted.own_folders, epoch=wanted.epoch, rescan=rescan
        )
        known = self._states.pop(wanted.path, None)
        if known is None or known.project is not project:
            before = known.tables if known is not None else None
            others = (state.tables for state in self._states.values())
            known = ProjectState(project, tables_of(project.bibliographies, before, others))
        known.file_versions = _file_versions(self._cache(wanted.options), project)
        self._states[wanted.path] = known
        while len(self._states) > MAX_OPEN:
            self._states.popitem(last=False)
        return document, known

    def linked(self, wanted: Reading) -> LinkedProjects:
        """A document or .bib with every project of the workspace that holds it."""
        workspace = self.workspace(wanted)
        projects = workspace.of(wanted.path)
        bib = document = None
        if wanted.is_bib:
            projects = tuple(project for project in projects if wanted.path in project.bibs)
            bib = self.bib(wanted)
        else:
            document = projects[0].documents[wanted.path]
        keys = self._table(wanted, workspace, projects, bib, wide=False)
        sharing = workspace.sharing(projects)
        wide = keys
        if len(sharing) > len(projects):
            wide = self._table(wanted, workspace, sharing, bib, wide=True)
        return LinkedProjects(wanted.path, document, bib, projects, keys, wide)

    def outdated(self, wanted: Reading, texts: Mapping[Path, str]) -> list[Path]:
        """The files that hold something else than these texts; one that is not there holds ""."""
        cache = self._cache(wanted.options)
        return [path for path in texts if (cache.text(path, wanted.overlay) or "") != texts[path]]

    def bib(self, wanted: Reading) -> BibFile:
        """A bibliography by itself."""
        return self._cache(wanted.options).bib(wanted.path, wanted.text)

    def texts_of(self, path: Path) -> list[str]:
        """The texts of a file as they were read last, if it was. For any thread."""
        found = (cache.last_text(path) for cache in list(self._caches.values()))
        return [text for text in found if text is not None]

    def parsed(self, path: Path, text: str, options: Options) -> BibFile:
        """Any .bib with the text that an edit refers to."""
        return self._cache(options).bib(path, text)

    def find_entries(self, wanted: Reading, query: str, limit: int) -> list[tuple[Symbol, str]]:
        """Entries of every .bib of the workspace and of those that are open, the best first, each
        with the text of its file."""
        bibs = {bib.path: bib for bib in self.workspace(wanted).bibs(wanted.texts)}
        index = self._entries
        if index is None:
            index = KeyIndex.build(bibs.values())
        elif any(index.files.get(path) is not bib for path, bib in bibs.items()) or len(
            index.files
        ) != len(bibs):
            index = index.refreshed(bibs.values())
        self._entries = index
        found = workspace_symbols(index, query, limit)
        return [(symbol, bibs[symbol.path].text) for symbol in found]

    def workspace(self, wanted: Reading) -> Workspace:
        """All projects of the workspace, as they are now."""
        workspace = self._workspace(wanted)
        workspace.refresh(wanted.overlay, wanted.texts.keys(), wanted.own_folders)
        return workspace

    def read_ahead(self, wanted: Reading, seconds: float = 0.02) -> bool:
        """Read some of the workspace; True when nothing is left to be read for the first time."""
        return self._workspace(wanted).read_ahead(wanted.overlay, seconds)

    def cancelled(self) -> list[Problem]:
        """What was not read because the author cancelled."""
        found = [problem for cache in self._caches.values() for problem in cache.cancelled()]
        left = sum(workspace.passed_over for workspace in self._workspaces.values())
        return [*found, _left(left)] if left else found

    def take_up(self) -> None:
        """Read it after all."""
        for cache in self._caches.values():
            cache.try_again()
        for workspace in self._workspaces.values():
            workspace.take_up()

    def try_again(self, path: Path) -> None:
        """Read one bibliography after all."""
        for cache in self._caches.values():
            cache.try_again(path)

    def _workspace(self, wanted: Reading) -> Workspace:
        options = wanted.options
        setting = (options.documents, options.bib, wanted.roots)
        workspace = self._workspaces.get(setting)
        if workspace is None:
            cache = self._cache(options)
            workspace = Workspace(cache, roots=wanted.roots, bib_options=options.bib)
            self._workspaces[setting] = workspace
        return workspace

    def _table(
        self,
        wanted: Reading,
        workspace: Workspace,
        projects: Sequence[Project],
        bib: BibFile | None,
        *,
        wide: bool,
    ) -> KeyTable:
        files = workspace.keys(projects)
        if bib is not None and wanted.path not in files:
            files[wanted.path] = self._cache(wanted.options).keys(wanted.path, bib)
        groups = [(*project.documents, *project.bibs) for project in projects]
        known = self._tables.pop((wanted.path, wide), None)
        table = known.updated(files, groups) if known is not None else KeyTable.of(files, groups)
        self._tables[wanted.path, wide] = table
        while len(self._tables) > MAX_OPEN:
            self._tables.popitem(last=False)
        return table

    def _cache(self, options: Options) -> FileCache:
        return self._caches.setdefault(options.documents, FileCache(options.documents))


def _left(count: int) -> Problem:
    return Problem(
        "workspace-read-cancelled",
        f"{count} files of the workspace were not read; their keys are unknown.",
        "Each is read when you open it, all when you rename a key.",
    )


def _file_versions(cache: FileCache, project: Project) -> tuple[tuple[Path, object], ...]:
    versions = ((path, cache.file_version(path)) for path in (*project.bibs, *project.unread_bibs))
    missing = project.missing_bibs
    # A file that cannot be read has no version: it is looked at again by itself.
    return tuple((p, version) for p, version in versions if version is not None or p in missing)
