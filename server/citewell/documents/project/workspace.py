"""The projects of a workspace: that of an open file, and all that contain a file or share a .bib
with it.

Projects are independent of each other. A .bib opened in the editor, or a renamed key, concerns
every document that uses it.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from citewell.documents.keys.table import FileKeys
from citewell.documents.project.files import FileCache, Overlay, SourceFiles, format_of, is_source
from citewell.documents.project.includes import is_main, main_files
from citewell.documents.project.paper_project import Project
from citewell.documents.project.project_files import shape_of
from citewell.model.bib import BibFile
from citewell.model.cancel import reading, stepper
from citewell.model.document import PAPER_SUFFIXES, Document, Format
from citewell.model.problem import Problem
from citewell.options.tree import BibOptions

MAX_OPEN = 32
"""Open files whose projects are kept."""
TextOf = Callable[[Path], str | None]
"""The current text of a file; None if it cannot be read."""
_MARKDOWN_HINTS = ("@", "bibliography")
_LATEX_MAIN = ("\\documentclass", "\\begin{document}")


class _File(msgspec.Struct, frozen=True):
    """A file and the result of reading it."""

    found: str | Problem | None
    """The cache's result: the same object as long as the file is unchanged."""
    text: str | None
    """None for a file that is no manuscript or .bib."""
    is_main: bool = False
    """Whether it can be the main file of a project."""
    cites: bool = False


class Workspace:
    """The projects of some folders over one cache. Not thread-safe.

    `open_file` checks the files of one project. Before anything else, call `refresh`: it checks
    every file once (a system call each), reads those that changed, and opens again only the
    projects with a changed set of files.
    """

    def __init__(
        self, cache: FileCache, *, roots: Sequence[Path], bib_options: BibOptions | None = None
    ) -> None:
        self.roots = tuple(roots)
        self._cache = cache
        self._bib_options = bib_options or BibOptions()
        self._sources = SourceFiles(self.roots)
        self._listed: tuple[Path, ...] = ()
        self._state: tuple[tuple[Path, ...], list[Path]] | None = None
        self._read: Overlay = lambda path: None
        self._files: dict[Path, _File] = {}
        self._is_read = False
        self._own_folders: frozenset[Path] = frozenset()
        self._seen: set[Path] = set()
        """Files checked since the last refresh."""
        self._projects: dict[Path, Project] = {}
        self._opened: frozenset[Path] = frozenset()
        """Files outside all projects that were open at the last refresh."""
        self._of_open: OrderedDict[Path, tuple[object, Project]] = OrderedDict()
        """The project of each open file, as returned by `open_file`, and its settings."""

    @property
    def projects(self) -> tuple[Project, ...]:
        """Every project of the workspace, as of the last refresh, in a fixed order."""
        return tuple(self._projects.values())

    def refresh(
        self,
        read: Overlay,
        opened: Collection[Path] = (),
        own_folders: frozenset[Path] = frozenset(),
    ) -> None:
        """Update to the current files. `read` returns the texts of the editor's buffers; `opened`
        are their files, which need not exist on disk yet; `own_folders` may be written although
        outside."""
        self._read = read
        self._own_folders = own_folders
        self._seen.clear()
        listed = self._sources.list()
        unsaved = [path for path in opened if self._is_unsaved(path, listed)]
        state = (listed, unsaved)
        rescan = self._state is None or state[0] is not self._state[0] or unsaved != self._state[1]
        self._state = state
        self._listed = (*listed, *unsaved) if unsaved else listed
        known, self._projects = self._projects, {}
        covered: set[Path] = set()
        for path in self._mains():
            before = None if rescan else known.get(path)
            self._projects[path] = project = self._now(path, before, root=path)
            covered.update(project.documents)
        for path in self._children():
            del self._projects[path]
        were_open, self._opened = self._opened, frozenset(opened) - covered
        for path in self._strays(covered):
            # A part that is being written belongs to the paper that will include it.
            is_open = path in self._opened
            before = None if rescan or is_open != (path in were_open) else known.get(path)
            self._projects[path] = self._now(path, before, root=None if is_open else path)

    def open_file(
        self,
        path: Path,
        read: Overlay,
        own_folders: frozenset[Path] = frozenset(),
        *,
        epoch: int = 0,
        rescan: bool = False,
    ) -> tuple[Document, Project]:
        """An open document in its current state, and its project.

        While an author types prose, only the document is scanned: the project is opened again when
        a declaration, an include or another of its files has changed, or `epoch` has. Between those
        changes the project's own copy of the document may be out of date, unless `rescan` is true.
        """
        self._read = read
        self._own_folders = own_folders
        setting = (epoch, own_folders)
        known = self._of_open.pop(path, None)
        if known is not None and known[0] == setting and not rescan:
            project = known[1]
            document = project.scan(path, read(path) or "")
            is_same_shape = shape_of(document) == shape_of(project.document)
            if is_same_shape and _is_current(project, self._text_now, passing=path):
                self._of_open[path] = known
                return document, project
        project = self._now(path, None, root=None)
        self._of_open[path] = (setting, project)
        while len(self._of_open) > MAX_OPEN:
            self._of_open.popitem(last=False)
        return project.document, project

    def read_ahead(self, read: Overlay, seconds: float) -> bool:
        """Scan new files for about `seconds`; True when none is left. A large workspace can thus be
        read in pieces, with other work in between."""
        if self._is_read:
            return True
        limit = time.monotonic() + seconds
        self._read = read
        self._seen.clear()
        listed = self._sources.list()
        with reading("workspace", len(listed), len(self._files)):
            step = stepper()
            for path in listed:
                if path in self._files:
                    continue
                file = self._file(path)
                if file.text is not None and (file.is_main or file.cites):
                    self._cache.document(path, file.text)
                step()
                if time.monotonic() > limit:
                    return False
        self._is_read = True
        return True

    def of(self, path: Path) -> tuple[Project, ...]:
        """The projects that contain a file; at least one for a document, maybe none for a .bib."""
        found = tuple(p for p in self._projects.values() if path in p.documents or path in p.bibs)
        return found or tuple(self._others_of(path))

    def sharing(self, projects: Iterable[Project]) -> tuple[Project, ...]:
        """The projects, and all connected to them by a shared .bib."""
        found = {(project.root, project.path): project for project in projects}
        waiting = list(self._projects.values())
        seen: set[Path] = set()
        while True:
            bibs = {bib for project in found.values() for bib in project.bibs}
            # For a .bib outside the workspace's folders, papers beside it are looked for.
            for bib in bibs - seen:
                if not any(bib.is_relative_to(root) for root in self.roots):
                    waiting += self._others_of(bib)
            seen |= bibs
            more = [
                p for p in waiting if (p.root, p.path) not in found and not bibs.isdisjoint(p.bibs)
            ]
            if not more:
                return tuple(found.values())
            found.update(((project.root, project.path), project) for project in more)

    def bibs(self, opened: Iterable[Path] = ()) -> tuple[BibFile, ...]:
        """Every .bib of the workspace or of its projects, or that is open, used or not."""
        listed = (path for path in (*self._listed, *opened) if path.suffix.lower() == ".bib")
        used = {path: bib for p in self._projects.values() for path, bib in p.bibs.items()}
        # A bibliography inside a document is read with it.
        held = {path: bib for path, bib in used.items() if bib.regions}
        found = ((path, self._text(path)) for path in dict.fromkeys((*used, *listed)))
        return tuple(
            held.get(path) or self._cache.bib(path, text)
            for path, text in found
            if text is not None
        )

    def keys(self, projects: Iterable[Project]) -> dict[Path, FileKeys]:
        """The keys of every file of the projects."""
        found: dict[Path, FileKeys] = {}
        for project in projects:
            for path, document in project.documents.items():
                if path not in found:
                    held = project.bibs.get(path)
                    found[path] = self._cache.keys(path, document, held)
            for path, bib in project.bibs.items():
                if path not in found:
                    found[path] = self._cache.keys(path, bib)
        return found

    # Main files of projects

    def _mains(self) -> Iterator[Path]:
        for path in self._listed:
            file = self._file(path)
            if file.is_main and file.text is not None:
                is_markdown = format_of(path) is Format.MARKDOWN
                if is_markdown or is_main(self._cache.document(path, file.text)):
                    yield path

    def _children(self) -> list[Path]:
        """Markdown files without a bibliography of their own that another document includes."""
        projects = self._projects
        read = {p for root, one in projects.items() for p in one.documents if p != root}
        return [
            path
            for path in read
            if (one := projects.get(path)) is not None
            and one.root_document.format is Format.MARKDOWN
            and not one.root_document.bibliographies
        ]

    def _strays(self, covered: set[Path]) -> Iterator[Path]:
        """Parts with citations that no paper includes: they may use the .bib beside them."""
        for path in self._listed:
            if self._file(path).cites and path not in covered and path not in self._projects:
                yield path

    def _is_unsaved(self, path: Path, listed: Sequence[Path]) -> bool:
        place = bisect_left(listed, path)
        there = place < len(listed) and listed[place] == path
        return (
            not there
            and path.name.lower().endswith(PAPER_SUFFIXES)
            and any(path.is_relative_to(root) for root in self.roots)
        )

    def _others_of(self, path: Path) -> Iterator[Project]:
        """The projects of a file outside all projects of the workspace, opened for it."""
        is_bib = format_of(path) is Format.BIBTEX
        mains = main_files(path, self._scan, self._text, self.roots) if is_bib else (path,)
        for start in mains:
            project = self._now(start, None, root=start if is_bib else None)
            if path in project.documents or path in project.bibs:
                yield project

    # Reading

    def _text(self, path: Path) -> str | None:
        return self._file(path).text

    def _file(self, path: Path) -> _File:
        """The current content of a file, read at most once between two refreshes."""
        known = self._files.get(path)
        if known is not None and path in self._seen:
            return known
        self._seen.add(path)
        found = self._cache.text(path, self._read)
        if known is None or known.found is not found:
            self._files[path] = known = _look(path, found)
        return known

    def _text_now(self, path: Path) -> str | None:
        """The current text of a file, checked at every call."""
        found = self._cache.text(path, self._read)
        return found if isinstance(found, str) else None

    def _scan(self, path: Path) -> Document | None:
        text = self._text(path)
        return None if text is None else self._cache.document(path, text)

    def _now(self, path: Path, before: Project | None, root: Path | None) -> Project:
        """The project with the main file `path`; only files that changed are read again.

        Without a `root`, the paper to which the file belongs is determined again, because it
        depends on what other files include or declare.
        """
        if root is None and before is not None:
            found = Project.root_of(path, roots=self.roots, read=self._read, cache=self._cache)
            before = before if found == before.root else None
        if before is not None and not _finds_bibs(before, self._text):
            if before.own_folders != self._own_folders:
                before = before.with_own_folders(self._own_folders)
            if _is_current(before, self._text):
                return before
            if (after := before.with_changes(self._text)) is not None:
                return after
        return Project.open(
            path,
            roots=self.roots,
            read=self._read,
            bib_options=self._bib_options,
            cache=self._cache,
            root=root,
            own_folders=self._own_folders,
        )


def _finds_bibs(project: Project, text_of: TextOf) -> bool:
    """True when a bibliography that the project could not read can be read now."""
    return any(text_of(path) is not None for path in project.unread_bibs)


def _is_current(project: Project, text_of: TextOf, *, passing: Path | None = None) -> bool:
    """True while the files of a project, except `passing`, are unchanged."""
    tables = (project.documents, project.bibs, project.styles)
    return not _finds_bibs(project, text_of) and all(
        path == passing or (text := text_of(path)) is file.text or text == file.text
        for table in tables
        for path, file in table.items()
    )


def _look(path: Path, found: str | Problem | None) -> _File:
    if not isinstance(found, str):
        return _File(found, None)
    kind = format_of(path)
    if kind is Format.BIBTEX:
        return _File(found, found)
    if not is_source(found):
        return _File(found, None)
    if kind is Format.MARKDOWN:
        return _File(found, found, is_main=any(hint in found for hint in _MARKDOWN_HINTS))
    return _File(found, found, any(mark in found for mark in _LATEX_MAIN), "cite" in found)
