"""The papers being written, as the reader thread holds them: read again only where they changed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from citewell.documents import FileCache, Project
from citewell.documents.bib_style import BibStyle, detect_style
from citewell.documents.entry import entry_text
from citewell.documents.key_index import KeyIndex
from citewell.documents.key_table import KeyTable
from citewell.documents.keys import make_key
from citewell.documents.project import shape_of
from citewell.documents.workspace import Workspace
from citewell.features.insert import taken_keys
from citewell.features.known_works import KnownWorks
from citewell.features.symbols import Symbol, workspace_symbols
from citewell.model import CitingPaper, Problem, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.document import Document
from citewell.options import Options

MAX_PAPERS = 32
QUICK_ENTRIES = 30_000
"""A look-up among so many entries takes one or two milliseconds."""


class Reading(Struct, frozen=True, eq=False):
    """One document to be read: its text, and all that its paper depends on."""

    path: Path
    text: str
    texts: Mapping[Path, str]
    """Of all open documents."""
    roots: tuple[Path, ...]
    options: Options
    epoch: int
    """Rises when a file may have changed in a way that nothing else shows."""
    is_bib: bool = False
    """True for a bibliography."""
    own_folders: frozenset[Path] = frozenset()
    """Those outside of the workspace that hold an open file, or that the author allowed."""

    @property
    def setting(self) -> object:
        """What a paper that was opened for this reading remains valid for."""
        return (self.epoch, self.options, self.roots, self.own_folders)

    def overlay(self, path: Path) -> str | None:
        """The text that an editor holds for a file."""
        return self.text if path == self.path else self.texts.get(path)


class Paper:
    """A project at one moment, with what the features compute from it once."""

    def __init__(self, project: Project, before: Paper | None = None) -> None:
        """`before` is the paper as it was, of which what still holds is taken over."""
        self.project = project
        self._before = before._index if before is not None else None
        self._index: KeyIndex | None = None
        self._works: KnownWorks | None = None
        self.is_prepared = False
        """Everything is computed; from now on any thread may look things up."""
        self.file_versions: tuple[tuple[Path, object], ...] = ()
        """Of the bibliographies on disk, as they were read."""

    @property
    def index(self) -> KeyIndex:
        """The entries by key, title, author and year."""
        if self._index is None:
            bibs = self.project.bibliographies
            if self._before is not None:
                self._index = self._before.refreshed(bibs, self.cited)
            else:
                self._index = KeyIndex.build(bibs, self.cited)
            self._before = None
        return self._index

    @property
    def is_quick(self) -> bool:
        """True when a look-up takes no longer than handing it to another thread."""
        return self._index is not None and len(self._index) <= QUICK_ENTRIES

    @cached_property
    def citing(self) -> CitingPaper:
        """What the searches may know of the paper."""
        return self.project.citing_paper()

    @cached_property
    def taken(self) -> frozenset[str]:
        """The keys that a new entry must not have."""
        return taken_keys(self.project)

    @cached_property
    def cited(self) -> Mapping[str, int]:
        """How often the paper cites each key."""
        return Counter(
            use.key
            for document in self.project.documents.values()
            for citation in document.citations
            for use in citation.keys
        )

    @property
    def works(self) -> KnownWorks:
        """The entries by the papers that they describe. Who needs it first does not wait for the
        thread that is computing it, which gives way."""
        if self._works is None:
            self._works = KnownWorks(self.project.bibliographies)
        return self._works

    def find_work(self, work: Work) -> tuple[str, BibEntry] | None:
        """The entry that describes a work, with the path of its .bib."""
        return self.works.find(work)

    def prepare_index(self) -> None:
        """Compute now what the first list of keys would have to wait for. For the reader thread."""
        self.index.search("", 1)

    def prepare(self) -> None:
        """Compute the rest, which lists with papers need. For a thread that gives way."""
        self.works  # noqa: B018
        self.taken  # noqa: B018
        self.citing  # noqa: B018
        self.is_prepared = True

    def new_key(self, work: Work) -> str:
        """The key that a new entry for the work would get."""
        return make_key(work, self.project.bib_options.key_pattern, self.taken)

    def entry_text(self, work: Work, key: str) -> str:
        """The entry that would be written for a work, in the style of the file that takes it."""
        options = self.project.bib_options
        bib = self.project.bib_at(self.project.target_bib(self.project.path))
        style = detect_style(bib) if isinstance(bib, BibFile) else BibStyle()
        return entry_text(work, key, style, abstract=options.abstract)


class Circle(Struct, frozen=True, eq=False):
    """One file with all projects that it belongs to. Immutable."""

    path: Path
    document: Document | None
    """The manuscript, as scanned; None for a .bib."""
    bib: BibFile | None
    """The bibliography; None for a manuscript."""
    projects: tuple[Project, ...]
    """Those that hold the file, as they are now; none for a .bib that no paper uses."""
    keys: KeyTable
    """Every key of these projects."""
    all_keys: KeyTable
    """Those of the projects that share a .bib with them, too."""


class Papers:
    """Projects by the file that is open, over one cache of texts. For one thread."""

    def __init__(self) -> None:
        self._caches: dict[object, FileCache] = {}
        self._known: OrderedDict[Path, tuple[object, Paper]] = OrderedDict()
        self._workspaces: dict[object, Workspace] = {}
        self._entries: KeyIndex | None = None
        """Of the whole workspace."""
        self._tables: OrderedDict[tuple[Path, bool], KeyTable] = OrderedDict()

    def read(self, wanted: Reading, *, anew: bool = False) -> tuple[Document, Paper]:
        """The document with its present text, and its paper.

        While an author types prose nothing but the document is read: the paper is opened again
        when a declaration, an include or any other of its files has changed. Its own copy of the
        document may then be an older one, unless it is opened `anew`.
        """
        cache = self._cache(wanted.options)
        known = self._known.get(wanted.path)
        if known is not None and not anew:
            project = known[1].project
            document = project.scan(wanted.path, wanted.text)
            if known[0] == (wanted.setting, shape_of(document)) and self._unchanged(
                cache, project, wanted.texts
            ):
                self._known.move_to_end(wanted.path)
                known[1].file_versions = _file_versions(cache, project)
                return document, known[1]
        project = Project.open(
            wanted.path,
            wanted.options.documents,
            roots=wanted.roots,
            read=wanted.overlay,
            bib_options=wanted.options.bib,
            cache=cache,
            own_folders=wanted.own_folders,
        )
        paper = Paper(project, known[1] if known is not None else None)
        paper.file_versions = _file_versions(cache, project)
        self._known[wanted.path] = ((wanted.setting, shape_of(project.document)), paper)
        self._known.move_to_end(wanted.path)
        while len(self._known) > MAX_PAPERS:
            self._known.popitem(last=False)
        return project.document, paper

    def circle(self, wanted: Reading) -> Circle:
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
        return Circle(wanted.path, document, bib, projects, keys, wide)

    def outdated(self, wanted: Reading, texts: Mapping[Path, str]) -> list[Path]:
        """The files that hold something else than these texts; one that is not there holds ""."""
        cache = self._cache(wanted.options)
        return [path for path in texts if (cache.text(path, wanted.overlay) or "") != texts[path]]

    def bib(self, wanted: Reading) -> BibFile:
        """A bibliography by itself."""
        return self._cache(wanted.options).bib(wanted.path, wanted.text)

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

    def given_up(self) -> list[Problem]:
        """What the author did not want to wait for."""
        found = [problem for cache in self._caches.values() for problem in cache.given_up()]
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
        while len(self._tables) > MAX_PAPERS:
            self._tables.popitem(last=False)
        return table

    def _cache(self, options: Options) -> FileCache:
        return self._caches.setdefault(options.documents, FileCache(options.documents))

    @staticmethod
    def _unchanged(cache: FileCache, project: Project, texts: Mapping[Path, str]) -> bool:
        others: dict[Path, BibFile | Document] = {**project.documents, **project.bibs}
        others.pop(project.path, None)
        if any(isinstance(cache.text(path, texts.get), str) for path in project.unread_bibs):
            return False
        return all(cache.text(path, texts.get) == file.text for path, file in others.items())


def _left(count: int) -> Problem:
    return Problem(
        "workspace-given-up",
        f"{count} files of the workspace were not read, so that nothing is known of them.",
        "Each is read when it is opened, all when a key is renamed.",
    )


def _file_versions(cache: FileCache, project: Project) -> tuple[tuple[Path, object], ...]:
    versions = ((path, cache.file_version(path)) for path in (*project.bibs, *project.unread_bibs))
    missing = project.missing_bibs
    # A file that cannot be read has no version: it is looked at again by itself.
    return tuple((p, version) for p, version in versions if version is not None or p in missing)
