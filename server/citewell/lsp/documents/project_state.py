"""A project at one moment, and what it was read from. Immutable, but for what is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from citewell.documents.bib.entry import entry_text
from citewell.documents.bib.style import BibStyle, detect_style
from citewell.documents.keys.index import KeyIndex
from citewell.documents.keys.pattern import make_key
from citewell.documents.keys.table import KeyTable
from citewell.documents.project.paper_project import Project
from citewell.features.citing.insert import taken_keys
from citewell.lsp.documents.bib_tables import BibTables
from citewell.model import CitingPaper, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.document import Document
from citewell.options import Options

QUICK_ENTRIES = 30_000
"""A look-up among this many entries takes one or two milliseconds."""


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

    def overlay(self, path: Path) -> str | None:
        """The text that an editor holds for a file."""
        return self.text if path == self.path else self.texts.get(path)


class ProjectState:
    """A project at one moment, with what the features compute from it once."""

    def __init__(self, project: Project, tables: BibTables) -> None:
        """`tables` are those of the project's bibliographies."""
        self.project = project
        self.tables = tables
        self._index: KeyIndex | None = None
        self.is_prepared = False
        """Everything is computed; from now on any thread may look things up."""
        self.file_versions: tuple[tuple[Path, object], ...] = ()
        """Of the bibliographies on disk, as they were read."""

    @property
    def index(self) -> KeyIndex:
        """The entries by key, title, author and year."""
        if self._index is None:
            self._index = self.tables.index.with_cited(self.cited)
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
        return taken_keys(self.project, self.tables.taken)

    @cached_property
    def cited(self) -> Mapping[str, int]:
        """How often the paper cites each key."""
        return Counter(
            use.key
            for document in self.project.documents.values()
            for citation in document.citations
            for use in citation.keys
        )

    def find_work(self, work: Work) -> tuple[str, BibEntry] | None:
        """The entry that describes a work, with the path of its .bib."""
        return self.tables.works.find(work)

    def prepare_index(self) -> None:
        """Compute now what the first list of keys would have to wait for. For the reader thread."""
        self.index.search("", 1)

    def prepare(self) -> None:
        """Compute the rest, which lists with papers need. For a thread that gives way."""
        self.tables.works  # noqa: B018
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


class LinkedProjects(Struct, frozen=True, eq=False):
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
