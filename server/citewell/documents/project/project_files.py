"""The files of a paper in their current state: sources, styles and bibliographies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from citewell.documents.project.declared_bibs import BibPlaces, lone_bib, shared_declarations
from citewell.documents.project.files import FileCache, Overlay, format_of, is_source
from citewell.documents.project.includes import (
    absolute,
    find_root,
    include_candidates,
    include_tree,
    is_main,
    main_files,
)
from citewell.model.bib import BibFile
from citewell.model.document import (
    BibDeclaration,
    Document,
    FileContents,
    Format,
    IncludeMacro,
    Placeholder,
    PlaceholderKind,
    Span,
)
from citewell.model.problem import Problem
from citewell.options.tree import BibOptions

_KEY_LISTS = (PlaceholderKind.EMPTY, PlaceholderKind.FREE_TEXT)


class ProjectFiles:
    """The files of a paper: immutable once read."""

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
        """Further writable folders outside the workspace."""
        self.bib_options = bib_options
        self.problems: list[Problem] = []
        self._read = read
        self._cache = cache
        self.root = root or self._find_root()
        """The main file of the paper."""
        self.bibs: dict[Path, BibFile] = {}
        """The bibliographies in the order of their declaration."""
        self.documents: dict[Path, Document] = {}
        """Every source of the paper in reading order, and the opened file."""
        self.styles: dict[Path, Document] = {}
        """The paper's own .sty and .cls files, which may define cite commands."""
        self._load_documents()
        self._places = self._bib_places((*self.styles.values(), *self.documents.values()))
        self.has_unknown_bibs = False
        """Whether a bibliography is declared in a form that cannot be resolved."""
        self._shadowed: dict[Path, tuple[Path, FileContents]] = {}
        """Files that LaTeX writes from a `filecontents` environment, with its document and itself.
        """
        self._declared = tuple(self._declarations())
        self._load_bibs()
        self.documents = self._scanned_again()

    @classmethod
    def root_of(
        cls, path: Path, *, roots: Sequence[Path], read: Overlay | None, cache: FileCache
    ) -> Path:
        """The root that `open` would find for a file, without opening the paper."""
        search = cls.__new__(cls)
        search.path, search.roots, search.problems = path, tuple(roots), []
        search._read, search._cache = read, cache
        return search._find_root()

    def with_own_folders(self, folders: Collection[Path]) -> Self:
        """The paper with other writable folders outside the workspace."""
        changed = copy.copy(self)
        changed.own_folders = frozenset(folders)
        return changed

    def with_changes(self, text_of: Callable[[Path], str | None]) -> Self | None:
        """The paper with the current texts of the same files; None when a change affects the set of
        its files, so that it must be opened again. Costs only the changes."""
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
            held = documents.get(path)
            found = self._cache.bib(path, text) if held is None else self._held_bib(path, held)
            if found is None:
                return None
            bibs[path] = found
        changed = copy.copy(self)
        changed.documents, changed.bibs = documents, bibs
        if any(bibs[path] is not self.bibs[path] for path in bibs):
            changed.documents = changed._scanned_again()
        return changed

    def with_document(self, path: Path, document: Document) -> Self:
        """The paper with a newer version of one document, regardless of other changes."""
        changed = copy.copy(self)
        changed.documents = self.documents | {path: document}
        changed.__dict__.pop("_defined", None)
        return changed

    def scan(self, path: Path, text: str) -> Document:
        """Scan a text of the paper with the definitions of its other files."""
        macros, packages, includes = self._defined
        read = partial(
            self._cache.document,
            path,
            text,
            cite_commands=macros,
            packages=packages,
            include_macros=includes,
        )
        document = read()
        keys = frozenset(
            key
            for placeholder in document.placeholders
            for key in _listed(document, placeholder)
            if any(key in bib.by_key for bib in self.bibs.values())
        )
        return read(defined_keys=keys) if keys else document

    def _scanned_again(self) -> dict[Path, Document]:
        """The documents scanned again, so that a key of the current bibliographies is no
        placeholder."""
        return {path: self.scan(path, old.text) for path, old in self.documents.items()}

    @cached_property
    def _defined(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[IncludeMacro, ...]]:
        """The cite commands, packages and include macros of all files."""
        known = (*self.documents.values(), *self.styles.values())
        return (
            tuple(dict.fromkeys(name for d in known for name in d.cite_macros)),
            tuple(dict.fromkeys(name for d in known for name in d.packages)),
            tuple(dict.fromkeys(macro for d in known for macro in d.include_macros)),
        )

    @property
    def document(self) -> Document:
        """The opened document; that of the root for a .bib."""
        return self.documents.get(self.path) or self.root_document

    @property
    def root_document(self) -> Document:
        return self.documents[self.root]

    @property
    def missing_bibs(self) -> tuple[Path, ...]:
        """Declared bibliographies that do not exist."""
        return tuple(Path(p.path) for p in self.problems if p.code == "bib-missing")

    def namesake(self, path: Path) -> Path | None:
        """The only .bib of the workspace with the name of a missing one."""
        name = path.name.lower()
        found = [one for one in self._cache.listed_bibs(self.roots) if one.name.lower() == name]
        return found[0] if len(found) == 1 else None

    @property
    def unread_bibs(self) -> tuple[Path, ...]:
        """Bibliographies without known content: missing or unreadable."""
        return self._unread

    @property
    def declares_bibs(self) -> bool:
        """True when the paper declares its bibliographies; else a lone .bib beside it is used."""
        return bool(self._declared)

    @property
    def declared_bibs(self) -> Iterator[tuple[Path, BibDeclaration, Path]]:
        """Each declaration in a source of the paper: the source, the declaration, and the file it
        names."""
        for source, document in self.documents.items():
            for declaration in document.bibliographies:
                for path in self._declared_paths(declaration, source):
                    yield source, declaration, path

    def _declared_paths(self, declaration: BibDeclaration, source: Path) -> tuple[Path, ...]:
        """The files that a declaration names, or the document that contains the file."""
        found = self._places.paths(declaration, source)
        if found is None:
            self.has_unknown_bibs = True
        return tuple(self._held_in(path) for path in found or ())

    def _held_in(self, path: Path) -> Path:
        """The document with the text of a file in its `filecontents` environment, else the file."""
        for source, document in self.documents.items():
            for contents in document.file_contents:
                name = contents.name.replace("\\jobname", self.root.stem)
                same = path in (absolute(self.root.parent / name), absolute(source.parent / name))
                # LaTeX overwrites a file only with an option of the environment.
                if same and (contents.overwrites or not self._is_file(path)):
                    self._shadowed[path] = (source, contents)
                    return source
        return path

    def _held_bib(self, path: Path, document: Document) -> BibFile | None:
        """The bibliography inside a document of the paper."""
        if document.references is not None:
            return self._cache.held_bib(path, document.text, (document.references,))
        names = {shadowed[1].name for shadowed in self._shadowed.values() if shadowed[0] == path}
        held = tuple(c.span for c in document.file_contents if c.name in names)
        return self._cache.held_bib(path, document.text, held) if held else None

    def bib_at(self, path: Path) -> BibFile | Problem | None:
        """Any bibliography, declared or not, as read with the paper if it belongs to it; None when
        the file is missing."""
        if path in self.bibs:
            return self.bibs[path]
        text = self._cache.text(path, self._read)
        return self._cache.bib(path, text) if isinstance(text, str) else text

    def named_files(self, source: Path) -> Iterator[tuple[Span, Path]]:
        """The ranges in which a source names another file, and that file, existing or not."""
        document = self.documents.get(source)
        if document is None:
            return
        for declaration in document.bibliographies:
            for path in self._declared_paths(declaration, source)[:1]:
                yield declaration.span, path
        for include in document.includes:
            places = list(include_candidates(include, source, self.root))
            if places:
                known = (path for path in places if path in self.documents or path.is_file())
                yield include.span, next(known, places[0])

    def fresh_cache(self) -> FileCache:
        """An empty cache that reads files like this project."""
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
                places = self._bib_places((document,), root)
                for declaration in document.bibliographies:
                    if self.path in (places.paths(declaration, source) or ()):
                        return root
        return self.path

    def _load_documents(self) -> None:
        tree = self._tree()
        self._load_styles(tree)
        if macros := [macro for style in self.styles.values() for macro in style.include_macros]:
            tree = self._tree(macros)
        self.documents = tree
        # Scanned again only if the text uses a definition of another file.
        scanned = {path: self.scan(path, old.text) for path, old in tree.items()}
        self.documents = scanned
        del self._defined

    def _tree(self, macros: Sequence[IncludeMacro] = ()) -> dict[Path, Document]:
        tree = include_tree(self.root, self._scan, macros)
        for path in dict.fromkeys((self.root, self.path)):
            # A magic comment counts even if the root does not include the file.
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
            shared = shared_declarations(source, document, self.roots, self._text, self._is_file)
            for declaration in (*document.bibliographies, *shared):
                for path in self._declared_paths(declaration, source):
                    if path not in seen:
                        seen.add(path)
                        yield path, source
            if document.references is not None and source not in seen:
                yield source, source

    def _bib_places(self, documents: Iterable[Document], root: Path | None = None) -> BibPlaces:
        macros = {name: text for document in documents for name, text in document.text_macros}
        top = root or self.root
        return BibPlaces(
            top, self.roots, macros, self._is_file, self._text, matching=self._matching
        )

    def _matching(self, folder: Path, pattern: str) -> Iterable[Path]:
        """The files that match a pattern, relative to a folder."""
        return filter(Path.is_file, folder.glob(pattern))

    def _load_bibs(self) -> None:
        paths = [path for path, _ in self._declared]
        if not paths and format_of(self.root) is Format.BIBTEX:
            paths = [self.root]
        elif not paths:
            lone = self._lone_bib()
            paths = [lone] if lone is not None else []
        unread: list[Path] = []
        for path in paths:
            if path in self.documents and (held := self._held_bib(path, self.documents[path])):
                self.bibs[path] = held
                continue
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

        # A file that LaTeX writes counts as soon as it exists.
        self._unread = (*unread, *(p for p, (_, c) in self._shadowed.items() if not c.overwrites))

    def _lone_bib(self) -> Path | None:
        beside = lone_bib(self.root.parent)
        document = self.root_document
        if beside or not self.roots or document.format is not Format.LATEX or is_main(document):
            return beside
        # A chapter that no file includes yet, in a workspace with one .bib.
        found = self._cache.listed_bibs(self.roots)
        return found[0] if len(found) == 1 else None


def _listed(document: Document, placeholder: Placeholder) -> list[str]:
    """The pieces of a key list that were taken for words."""
    if document.format is not Format.LATEX or placeholder.kind not in _KEY_LISTS:
        return []
    words = document.text[placeholder.query_span.start : placeholder.query_span.end]
    return [piece.strip() for piece in words.split(",")]


def shape_of(document: Document) -> object:
    """The parts of a document that affect the rest of its paper."""
    return (
        tuple((b.target, b.command) for b in document.bibliographies),
        tuple((i.target, i.command) for i in document.includes),
        document.root,
        document.packages,
        document.document_class,
        document.cite_macros,
        document.include_macros,
        document.text_macros,
        document.references is None,
        tuple((c.name, c.overwrites) for c in document.file_contents),
    )
