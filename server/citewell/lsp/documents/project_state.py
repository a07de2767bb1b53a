"""A project at one moment, and the texts it was read from. Immutable, except for cached values."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from operator import is_
from pathlib import Path

import msgspec
from msgspec import Struct

from citewell.documents.bib.edit import new_entry_text
from citewell.documents.bib.style import BibStyle, detect_style
from citewell.documents.keys.index import KeyIndex
from citewell.documents.keys.pattern import make_key
from citewell.documents.keys.table import KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import MAX_OPEN, Workspace
from citewell.features.citing.insert import taken_keys, with_lower_case
from citewell.features.citing.known_works import KnownWorks
from citewell.model import CitingPaper, Work
from citewell.model.bib import BibBlock, BibBody, BibEntry, BibFile
from citewell.model.document import Document, Span
from citewell.options import Options

# The outline of a .bib, and entries by key, title or author anywhere in the workspace.

MAX_AUTHORS = 8
"""Maximum number of names in a workspace symbol: an editor hides one without the typed text."""


class SymbolKind(StrEnum):
    ARTICLE = "article"
    BOOK = "book"
    PAPER = "paper"
    OTHER = "other"
    MACRO = "macro"


_KINDS = {
    **dict.fromkeys(("article", "suppperiodical", "review"), SymbolKind.ARTICLE),
    **dict.fromkeys(
        ("book", "mvbook", "collection", "mvcollection", "proceedings", "mvproceedings", "booklet",
         "manual", "thesis", "phdthesis", "mastersthesis", "periodical", "report", "techreport"),
        SymbolKind.BOOK,
    ),
    **dict.fromkeys(
        ("inproceedings", "conference", "incollection", "inbook", "inreference"), SymbolKind.PAPER
    ),
}  # fmt: skip


class Symbol(msgspec.Struct, frozen=True):
    """One symbol of a file."""

    name: str
    detail: str
    kind: SymbolKind
    span: Span
    name_span: Span
    path: str = ""


def outline(bib: BibFile) -> list[Symbol]:
    """Every entry and @string, in the order of the file."""
    found = [_entry(entry) for entry in bib.entries]
    macros = [_macro(bib, one) for one in bib.blocks if one.type == "string" and one.body.names]
    return sorted([*found, *macros], key=lambda symbol: symbol.span) if macros else found


def _macro(bib: BibFile, block: BibBlock) -> Symbol:
    marks = block.body.marks
    place = Span(block.start + marks[0], block.start + marks[1])
    shown = bib.text[place.start : place.end]
    value = block.body.get(block.body.names[0])
    return Symbol(shown, value, SymbolKind.MACRO, block.span, place)


def _entry(entry: BibEntry) -> Symbol:
    place = entry.key_span if entry.key else Span(entry.start, entry.start + 1)
    kind = _KINDS.get(entry.type, SymbolKind.OTHER)
    return Symbol(_title(entry), byline(entry.body), kind, entry.span, place)


def _title(entry: BibEntry) -> str:
    """Key and title: some editors show and search only the name of a symbol."""
    name, title = entry.key or f"@{entry.type}", entry.body.get("title")
    return f"{name} · {title}" if title else name


def byline(body: BibBody) -> str:
    """ "Vaswani et al. 2017", "Kipf and Welling 2017", as far as known."""
    names = [author.family or author.given for author in body.first_authors(3)]
    shown = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    year = body.year
    return f"{shown} {year}" if shown and year else shown or str(year or "")


def workspace_symbols(index: KeyIndex, query: str, limit: int = 128) -> list[Symbol]:
    """The entries that match a query by key, title, author or year, best first. A symbol's name
    contains all of these, because editors filter results by name."""
    found = []
    for match in index.search(query, limit):
        entry = match.entry
        authors = [
            author.family or author.given for author in entry.body.first_authors(MAX_AUTHORS)
        ]
        shown = ", ".join(authors)
        parts = (entry.key, entry.get("title"), shown, str(entry.body.year or ""))
        found.append(
            Symbol(
                " · ".join(part for part in parts if part),
                "",
                _KINDS.get(entry.type, SymbolKind.OTHER),
                entry.span,
                entry.key_span,
                match.path,
            )
        )
    return found


# Tables computed from the bibliographies of a paper. Papers with the same ones share them: the
# tables of 20,000 entries take 12 MB, and an edit of a manuscript must not compute them again.


class BibTables:
    """The tables of some bibliographies. Immutable, except for cached values."""

    def __init__(self, bibs: tuple[BibFile, ...], before: BibTables | None = None) -> None:
        """`before` holds the tables of nearly the same files; valid parts are reused."""
        self.bibs = bibs
        self._before = before._index if before is not None else None
        self._index: KeyIndex | None = None
        self._works: KnownWorks | None = None

    @property
    def index(self) -> KeyIndex:
        """The entries by key, title, author and year."""
        if self._index is None:
            if self._before is not None:
                self._index = self._before.refreshed(self.bibs)
            else:
                self._index = KeyIndex.build(self.bibs)
            self._before = None
        return self._index

    @property
    def works(self) -> KnownWorks:
        """The entries by the papers that they describe. A caller that needs them early computes
        them itself instead of waiting for the background thread, which pauses for requests."""
        if self._works is None:
            self._works = KnownWorks(self.bibs)
        return self._works

    @cached_property
    def taken(self) -> frozenset[str]:
        """The keys of the entries (`with_lower_case`)."""
        return with_lower_case(key for bib in self.bibs for key in bib.by_key)

    def are_of(self, bibs: tuple[BibFile, ...]) -> bool:
        """True for the very same bibliographies, in the same order."""
        return len(bibs) == len(self.bibs) and all(map(is_, bibs, self.bibs))


def tables_of(
    bibs: tuple[BibFile, ...], before: BibTables | None, others: Iterable[BibTables]
) -> BibTables:
    """The tables of these bibliographies: existing ones, else new ones based on those of the same
    paper `before`, else on those of another paper with one of the files."""
    known = [before, *others] if before is not None else list(others)
    for one in known:
        if one.are_of(bibs):
            return one
    return BibTables(bibs, before or next((one for one in known if _share(one, bibs)), None))


def _share(one: BibTables, bibs: tuple[BibFile, ...]) -> bool:
    return any(bib is other for bib in bibs for other in one.bibs)


# A project at one moment, and the texts it was read from. Immutable, except for cached values.

QUICK_ENTRIES = 30_000
"""Maximum number of entries for a fast look-up, of one or two milliseconds."""


class DocumentInput(Struct, frozen=True, eq=False):
    """The input for reading a document: its text, and everything that its paper depends on."""

    path: Path
    text: str
    texts: Mapping[Path, str]
    """Texts of all open documents."""
    roots: tuple[Path, ...]
    options: Options
    epoch: int
    """Increases when a file may have changed without any other sign."""
    is_bib: bool = False
    """True for a bibliography."""
    own_folders: frozenset[Path] = frozenset()
    """Folders outside the workspace with an open file, or allowed by the author."""

    def overlay(self, path: Path) -> str | None:
        """The editor's text of a file."""
        return self.text if path == self.path else self.texts.get(path)


class ProjectState:
    """A project at one moment, with the cached data of the features."""

    def __init__(self, project: Project, tables: BibTables) -> None:
        """`tables` are those of the project's bibliographies."""
        self.project = project
        self.tables = tables
        self._index: KeyIndex | None = None
        self.is_prepared = False
        """Whether everything is computed, so that any thread may look things up."""
        self.file_versions: tuple[tuple[Path, object], ...] = ()
        """Versions of the bibliographies on disk, as read."""

    @property
    def index(self) -> KeyIndex:
        """The entries by key, title, author and year."""
        if self._index is None:
            self._index = self.tables.index.with_cited(self.cited)
        return self._index

    @property
    def is_quick(self) -> bool:
        """True when a look-up takes no longer than passing it to another thread."""
        return self._index is not None and len(self._index) <= QUICK_ENTRIES

    @cached_property
    def citing(self) -> CitingPaper:
        """The paper's context for searches."""
        return self.project.citing_paper()

    @cached_property
    def taken(self) -> frozenset[str]:
        """The keys that a new entry must not have."""
        return taken_keys(self.project, self.tables.taken)

    @cached_property
    def cited(self) -> Mapping[str, int]:
        """The paper's number of citations of each key."""
        return Counter(
            use.key
            for document in self.project.documents.values()
            for citation in document.citations
            for use in citation.keys
        )

    def find_work(self, work: Work) -> tuple[str, BibEntry] | None:
        """The entry for a work, with the path of its .bib."""
        return self.tables.works.find(work)

    def prepare_index(self) -> None:
        """Compute the data for the first list of keys. For the reader thread."""
        self.index.search("", 1)

    def prepare(self) -> None:
        """Compute the data for lists with papers. For a thread that gives way."""
        self.tables.works  # noqa: B018
        self.taken  # noqa: B018
        self.citing  # noqa: B018
        self.is_prepared = True

    def new_key(self, work: Work) -> str:
        """The key of a new entry for the work."""
        return make_key(work, self.project.bib_options.key_pattern, self.taken)

    def entry_text(self, work: Work, key: str) -> str:
        """The new entry for a work, in the style of its file."""
        options = self.project.bib_options
        bib = self.project.bib_at(self.project.target_bib(self.project.path))
        style = detect_style(bib) if isinstance(bib, BibFile) else BibStyle()
        return new_entry_text(work, key, style, options)


class LinkedProjects(Struct, frozen=True, eq=False):
    """One file with all its projects. Immutable."""

    path: Path
    document: Document | None
    """The manuscript, as scanned; None for a .bib."""
    bib: BibFile | None
    """The bibliography; None for a manuscript."""
    projects: tuple[Project, ...]
    """The current projects with the file; none for an unused .bib."""
    keys: KeyTable
    """Every key of these projects."""
    all_keys: KeyTable
    """Keys that include the projects sharing a .bib with them."""


# The open projects and the data computed from them, on the reader thread.


class ProjectCache:
    """One `Workspace` for each settings, and the state and key table of each open file. Not
    thread-safe."""

    def __init__(self) -> None:
        self._caches: dict[object, FileCache] = {}
        self._states: OrderedDict[Path, ProjectState] = OrderedDict()
        self._workspaces: dict[object, Workspace] = {}
        self._entries: KeyIndex | None = None
        """Index of the whole workspace."""

    def read(self, wanted: DocumentInput, *, rescan: bool = False) -> tuple[Document, ProjectState]:
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

    def linked(self, wanted: DocumentInput) -> LinkedProjects:
        """A document or .bib with every project of the workspace that contains it."""
        workspace = self.workspace(wanted)
        projects = workspace.of(wanted.path)
        bib = document = None
        if wanted.is_bib:
            projects = tuple(project for project in projects if wanted.path in project.bibs)
            bib = self.bib(wanted)
        else:
            document = projects[0].documents[wanted.path]
        keys = self._table(wanted, workspace, projects, bib)
        sharing = workspace.sharing(projects)
        wide = keys
        if len(sharing) > len(projects):
            wide = self._table(wanted, workspace, sharing, bib)
        return LinkedProjects(wanted.path, document, bib, projects, keys, wide)

    def outdated(self, wanted: DocumentInput, texts: Mapping[Path, str]) -> list[Path]:
        """The files with other texts than these; a missing one has ""."""
        cache = self._cache(wanted.options)
        return [path for path in texts if (cache.text(path, wanted.overlay) or "") != texts[path]]

    def bib(self, wanted: DocumentInput) -> BibFile:
        """A bibliography by itself."""
        return self._cache(wanted.options).bib(wanted.path, wanted.text)

    def texts_of(self, path: Path) -> list[str]:
        """The last read texts of a file. Thread-safe."""
        found = (cache.last_text(path) for cache in list(self._caches.values()))
        return [text for text in found if text is not None]

    def parsed(self, path: Path, text: str, options: Options) -> BibFile:
        """A .bib with the text that an edit refers to."""
        return self._cache(options).bib(path, text)

    def find_entries(
        self, wanted: DocumentInput, query: str, limit: int
    ) -> list[tuple[Symbol, str]]:
        """Entries of every .bib of the workspace and of open ones, the best first, each with the
        text of its file."""
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

    def workspace(self, wanted: DocumentInput) -> Workspace:
        """All current projects of the workspace."""
        workspace = self._workspace(wanted)
        workspace.refresh(wanted.overlay, wanted.texts.keys(), wanted.own_folders)
        return workspace

    def read_ahead(self, wanted: DocumentInput, seconds: float = 0.02) -> bool:
        """Read some of the workspace; True when all of it has been read."""
        return self._workspace(wanted).read_ahead(wanted.overlay, seconds)

    def _workspace(self, wanted: DocumentInput) -> Workspace:
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
        wanted: DocumentInput,
        workspace: Workspace,
        projects: Sequence[Project],
        bib: BibFile | None,
    ) -> KeyTable:
        files = workspace.keys(projects)
        if bib is not None and wanted.path not in files:
            files[wanted.path] = self._cache(wanted.options).keys(wanted.path, bib)
        groups = [(*project.documents, *project.bibs) for project in projects]
        return KeyTable(files, groups)

    def _cache(self, options: Options) -> FileCache:
        return self._caches.setdefault(options.documents, FileCache(options.documents))


def _file_versions(cache: FileCache, project: Project) -> tuple[tuple[Path, object], ...]:
    versions = ((path, cache.file_version(path)) for path in (*project.bibs, *project.unread_bibs))
    missing = project.missing_bibs
    # A file that cannot be read has no version, and is checked again.
    return tuple((p, version) for p, version in versions if version is not None or p in missing)
