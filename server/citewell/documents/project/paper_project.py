"""A paper with all its files: sources, bibliographies, and where a new entry belongs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from citewell.documents.project.cited_works import cited_works, uncited_titles
from citewell.documents.project.declare import declaration_edit
from citewell.documents.project.declared_bibs import (
    declared_path,
    is_collection,
    lone_bib,
    quarto_declarations,
)
from citewell.documents.project.files import FileCache, Overlay, is_source
from citewell.documents.project.includes import (
    absolute,
    find_root,
    include_candidates,
    include_tree,
    main_files,
)
from citewell.documents.project.write_access import WriteAccess
from citewell.documents.scan import format_of
from citewell.model.bib import BibEntry, BibFile, FileEdit
from citewell.model.document import (
    BibDeclaration,
    Document,
    Format,
    IncludeMacro,
    KeyUse,
    Span,
)
from citewell.model.problem import Problem
from citewell.model.query import CitingPaper, Reference
from citewell.options.tree import BibOptions, DocumentOptions

DEFAULT_BIB = "references.bib"


class Project:
    """A paper as it stands now: immutable once opened. Open it again when a file has changed; with
    the same `FileCache` that costs only what changed."""

    def __init__(
        self,
        path: Path,
        *,
        roots: Sequence[Path],
        read: Overlay | None,
        cache: FileCache,
        bib_options: BibOptions,
        root: Path | None = None,
        own_folders: Collection[Path] = (),
    ) -> None:
        self.path = path
        self.roots = tuple(roots)
        self.own_folders = frozenset(own_folders)
        """Folders outside of the workspace that may be written as well."""
        self.bib_options = bib_options
        self.problems: list[Problem] = []
        self._read = read
        self._cache = cache
        self.root = root or self._find_root()
        """The file from which the paper is built."""
        self.documents: dict[Path, Document] = {}
        """Every source of the paper in reading order, and the file that was opened."""
        self.styles: dict[Path, Document] = {}
        """The paper's own .sty and .cls files, which may define cite commands."""
        self._load_documents()
        self._declared = tuple(self._declarations())
        self.bibs: dict[Path, BibFile] = {}
        """The bibliographies in the order of their declaration."""
        self._load_bibs()

    @classmethod
    def open(
        cls,
        path: Path | str,
        options: DocumentOptions | None = None,
        *,
        roots: Sequence[Path] = (),
        read: Overlay | None = None,
        bib_options: BibOptions | None = None,
        cache: FileCache | None = None,
        root: Path | None = None,
        own_folders: Collection[Path] = (),
    ) -> Project:
        """Open the paper to which `path` belongs; never raises for what stands in the files.

        `roots` are the workspace's folders: for a file in one of them the search for a root file
        stays there, and nothing outside of them and of `own_folders` (those of the files that the
        editor has open) is ever written. `read` gives the text of unsaved buffers. `root` is the
        file from which the paper is built, where that is known.
        """
        return cls(
            absolute(path),
            roots=[absolute(root) for root in roots],
            read=read,
            cache=cache or FileCache(options),
            bib_options=bib_options or BibOptions(),
            root=root,
            own_folders=own_folders,
        )

    @classmethod
    def root_of(
        cls, path: Path, *, roots: Sequence[Path], read: Overlay | None, cache: FileCache
    ) -> Path:
        """The root that `open` would find for a file, without opening its paper."""
        search = cls.__new__(cls)
        search.path, search.roots, search.problems = path, tuple(roots), []
        search._read, search._cache = read, cache
        return search._find_root()

    def with_own_folders(self, folders: Collection[Path]) -> Project:
        """The paper, with other folders outside of the workspace that may be written."""
        changed = copy.copy(self)
        changed.own_folders = frozenset(folders)
        return changed

    def with_changes(self, text_of: Callable[[Path], str | None]) -> Project | None:
        """The paper with the present texts of the same files; None when a change bears on which
        files belong to it, so that it must be opened again. Costs what changed."""
        documents = dict(self.documents)
        for path, old in self.documents.items():
            text = text_of(path)
            if text is None:
                return None
            if text is not old.text and text != old.text:
                documents[path] = self.scan(path, text)
                if shape_of(documents[path]) != shape_of(old):
                    return None
        if any(text_of(path) != style.text for path, style in self.styles.items()):
            return None
        bibs = dict(self.bibs)
        for path in self.bibs:
            text = text_of(path)
            if text is None:
                return None
            bibs[path] = self._cache.bib(path, text)
        changed = copy.copy(self)
        changed.documents, changed.bibs = documents, bibs
        return changed

    def with_document(self, path: Path, document: Document) -> Project:
        """The paper with a newer version of one of its documents, whatever else has changed."""
        changed = copy.copy(self)
        changed.documents = self.documents | {path: document}
        changed.__dict__.pop("_defined", None)
        return changed

    def scan(self, path: Path, text: str) -> Document:
        """A text of the paper, read with what its other files define."""
        macros, packages, includes = self._defined
        return self._cache.document(
            path, text, cite_commands=macros, packages=packages, include_macros=includes
        )

    @cached_property
    def _defined(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[IncludeMacro, ...]]:
        """The cite macros, packages and include macros of all files."""
        known = (*self.documents.values(), *self.styles.values())
        return (
            tuple(dict.fromkeys(name for d in known for name in d.cite_macros)),
            tuple(dict.fromkeys(name for d in known for name in d.packages)),
            tuple(dict.fromkeys(macro for d in known for macro in d.include_macros)),
        )

    # What the paper holds

    @property
    def document(self) -> Document:
        """The document that was opened; the root's for a .bib."""
        return self.documents.get(self.path) or self.root_document

    @property
    def root_document(self) -> Document:
        return self.documents[self.root]

    @property
    def missing_bibs(self) -> tuple[Path, ...]:
        """Bibliographies that are declared and not there."""
        return tuple(Path(p.path) for p in self.problems if p.code == "bib-missing")

    @property
    def unread_bibs(self) -> tuple[Path, ...]:
        """Bibliographies of which nothing is known: missing, unreadable, or cancelled."""
        return self._unread

    @property
    def declares_bibs(self) -> bool:
        """True when the paper names its bibliographies; else a lone .bib beside it is taken."""
        return bool(self._declared)

    @property
    def declared_bibs(self) -> Iterator[tuple[Path, BibDeclaration, Path]]:
        """Each declaration in a source of the paper: the source, itself, and the file it names."""
        for source, document in self.documents.items():
            for declaration in document.bibliographies:
                path = declared_path(declaration, source, self.root, self._is_file)
                if path is not None:
                    yield source, declaration, path

    @property
    def bibliographies(self) -> tuple[BibFile, ...]:
        """The .bib files in the order of their declaration."""
        return tuple(self.bibs.values())

    def bib_at(self, path: Path) -> BibFile | Problem | None:
        """Any bibliography, declared or not; None when there is no such file."""
        text = self._cache.text(path, self._read)
        return self._cache.bib(path, text) if isinstance(text, str) else text

    def entries(self) -> Iterator[tuple[Path, BibEntry]]:
        """Every entry with its file, in order."""
        for path, bib in self.bibs.items():
            for entry in bib.entries:
                yield path, entry

    def entry(self, key: str) -> tuple[Path, BibEntry] | None:
        """The first entry of a key, with its file."""
        return next(((path, entry) for path, entry in self.entries() if entry.key == key), None)

    def named_files(self, source: Path) -> Iterator[tuple[Span, Path]]:
        """Where a source of the paper names another file, and which: it may not be there."""
        document = self.documents.get(source)
        if document is None:
            return
        for declaration in document.bibliographies:
            path = declared_path(declaration, source, self.root, self._is_file)
            if path is not None:
                yield declaration.span, path
        for include in document.includes:
            places = list(include_candidates(include, source, self.root))
            if places:
                known = (path for path in places if path in self.documents or path.is_file())
                yield include.span, next(known, places[0])

    def uses(self, key: str) -> Iterator[tuple[Path, KeyUse]]:
        """Every place that cites a key."""
        for path, document in self.documents.items():
            for citation in document.citations:
                for use in citation.keys:
                    if use.key == key:
                        yield path, use

    def cited_keys(self) -> tuple[str, ...]:
        """All keys that the paper cites, each once, in reading order."""
        return tuple(
            dict.fromkeys(
                use.key
                for document in self.documents.values()
                for citation in document.citations
                for use in citation.keys
            )
        )

    def references(self) -> tuple[Reference, ...]:
        """The cited works that a .bib of the paper describes, in reading order."""
        entries = (entry for _, entry in self.entries())
        return cited_works(self.cited_keys(), self.documents.values(), entries)

    def uncited(self) -> tuple[str, ...]:
        """Titles of the entries that the paper does not cite yet; none where they are too many to
        have been collected for it."""
        return uncited_titles(self.bibs, frozenset(self.cited_keys()))

    def citing_paper(self) -> CitingPaper:
        """What is known of the paper: title, abstract, references."""
        documents = (self.root_document, *self.documents.values())
        return CitingPaper(
            title=next((d.title for d in documents if d.title), ""),
            abstract=next((d.abstract for d in documents if d.abstract), ""),
            references=self.references(),
            uncited=self.uncited(),
            project=str(self.root.parent),
        )

    # Where a new entry goes

    def target_bib(self, for_path: Path | str | None = None) -> Path:
        """The .bib that takes new entries cited in `for_path`; it may not exist yet.

        The one that the settings name; else the first declared one that can be written, a
        file's own declarations before those of others; else the first declared one, though it
        cannot; without any `references.bib` beside the root. Ask `may_write` before writing.
        """
        if self._named_target is not None:
            return self._named_target
        own = absolute(for_path) if for_path is not None else self.path
        declared = sorted(self._declared, key=lambda item: item[1] != own)
        known = [path for path, _ in declared] or list(self.bibs)
        # A collection such as the whole ACL Anthology is no place for one's own entries.
        small = [path for path in known if not is_collection(path, self.bibs.get(path))]
        # Another file beside one that cannot be written would be no place that the author chose.
        known = small or known or [self.root.parent / DEFAULT_BIB]
        return next((path for path in known if self.may_write(path)), known[0])

    @property
    def _named_target(self) -> Path | None:
        """The .bib that the settings name."""
        named = self.bib_options.target
        return absolute(self.root.parent / Path(named).expanduser()) if named else None

    def declaration_edit(self, bib: Path | str) -> FileEdit | None:
        """The edit that makes the paper use `bib`; None when it does so already or cannot."""
        path = absolute(bib)
        if any(path == declared for declared, _ in self._declared):
            return None
        return declaration_edit(self.root, self.documents, self.styles.values(), path)

    def may_write(self, path: Path) -> bool:
        """True for a file that `may_hold` allows and that permissions let one write."""
        return self._access.may_write(path)

    def may_hold(self, path: Path) -> bool:
        """True for a place inside the workspace or beside an open file, links followed."""
        return self._access.may_hold(path)

    @property
    def _access(self) -> WriteAccess:
        return WriteAccess(self.path, self.root, self.roots, self.own_folders, self._named_target)

    # Reading

    def fresh_cache(self) -> FileCache:
        """An empty cache that reads files as this project does."""
        return FileCache(self._cache.options)

    def _is_file(self, path: Path) -> bool:
        return path.is_file()

    def _text(self, path: Path) -> str | None:
        text = self._cache.text(path, self._read)
        if isinstance(text, Problem):
            if text not in self.problems:
                self.problems.append(text)
            return None
        return text if text is not None and is_source(text) else None

    def _scan(self, path: Path, macros: Sequence[IncludeMacro] = ()) -> Document | None:
        text = self._text(path)
        return None if text is None else self._cache.document(path, text, include_macros=macros)

    def _find_root(self) -> Path:
        def mains(path: Path) -> Iterator[Path]:
            return main_files(path, self._scan, self._text, self.roots)

        if format_of(self.path) is not Format.BIBTEX:
            return find_root(self.path, self._scan, mains)
        for root in mains(self.path):
            for source, document in include_tree(root, self._scan).items():
                for declaration in document.bibliographies:
                    if declared_path(declaration, source, root, self._is_file) == self.path:
                        return root
        return self.path

    def _load_documents(self) -> None:
        tree = self._tree()
        self._load_styles(tree)
        if macros := [macro for style in self.styles.values() for macro in style.include_macros]:
            tree = self._tree(macros)
        self.documents = tree
        # Scanned again only where the text uses what another file defines.
        scanned = {path: self.scan(path, old.text) for path, old in tree.items()}
        self.documents = scanned
        del self._defined

    def _tree(self, macros: Sequence[IncludeMacro] = ()) -> dict[Path, Document]:
        tree = include_tree(self.root, self._scan, macros)
        for path in dict.fromkeys((self.root, self.path)):
            # A magic comment is believed even when no include leads from the root to the file.
            if path not in tree and (path == self.root or format_of(path) is not Format.BIBTEX):
                tree[path] = self._cache.document(path, self._text(path) or "")
        return tree

    def _load_styles(self, tree: dict[Path, Document]) -> None:
        waiting = [
            name
            for document in tree.values()
            for name in (
                *(package + ".sty" for package in document.packages),
                *((document.document_class + ".cls",) if document.document_class else ()),
            )
        ]
        for name in waiting:
            path = absolute(self.root.parent / name)
            if path in self.styles or "\\" in name or len(self.styles) > 100:
                continue
            document = self._scan(path) if self._is_file(path) else None
            if document is not None:
                self.styles[path] = document
                waiting += [package + ".sty" for package in document.packages]

    def _declarations(self) -> Iterator[tuple[Path, Path]]:
        """Each declared .bib with the file that declares it, in order."""
        seen: set[Path] = set()
        for source, document in (*self.documents.items(), *self.styles.items()):
            quarto = quarto_declarations(source, document, self.roots, self._text, self._is_file)
            for declaration in (*document.bibliographies, *quarto):
                path = declared_path(declaration, source, self.root, self._is_file)
                if path is not None and path not in seen:
                    seen.add(path)
                    yield path, source

    def _load_bibs(self) -> None:
        paths = [path for path, _ in self._declared]
        if not paths and format_of(self.root) is Format.BIBTEX:
            paths = [self.root]
        elif not paths:
            lone = self._lone_bib()
            paths = [lone] if lone is not None else []
        unread: list[Path] = []
        for path in paths:
            text = self._cache.text(path, self._read)
            if not isinstance(text, str):
                unread.append(path)
            if isinstance(text, Problem):
                self.problems.append(text)
            elif text is not None:
                self.bibs[path] = self._cache.bib(path, text)
            else:
                hint = "Check the name; it is created when the first entry is written."
                self.problems.append(
                    Problem(
                        "bib-missing",
                        f"{path.name} is declared but does not exist.",
                        hint,
                        str(path),
                    )
                )

        self._unread = tuple(unread)

    def _lone_bib(self) -> Path | None:
        return lone_bib(self.root.parent)


def shape_of(document: Document) -> object:
    """What of a document bears on the rest of its paper."""
    return (
        tuple((b.target, b.command) for b in document.bibliographies),
        tuple((i.target, i.command) for i in document.includes),
        document.root,
        document.packages,
        document.document_class,
        document.cite_macros,
        document.include_macros,
    )
