"""The files of a paper, read as they stand: sources, styles and bibliographies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from citewell.documents.project.declared_bibs import (
    declared_path,
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
from citewell.documents.scan import format_of
from citewell.model.bib import BibFile
from citewell.model.document import (
    BibDeclaration,
    Document,
    Format,
    IncludeMacro,
    Span,
)
from citewell.model.problem import Problem
from citewell.options.tree import BibOptions


class ProjectFiles:
    """What a paper consists of: immutable once read."""

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
    def root_of(
        cls, path: Path, *, roots: Sequence[Path], read: Overlay | None, cache: FileCache
    ) -> Path:
        """The root that `open` would find for a file, without opening its paper."""
        search = cls.__new__(cls)
        search.path, search.roots, search.problems = path, tuple(roots), []
        search._read, search._cache = read, cache
        return search._find_root()

    def with_own_folders(self, folders: Collection[Path]) -> Self:
        """The paper, with other folders outside of the workspace that may be written."""
        changed = copy.copy(self)
        changed.own_folders = frozenset(folders)
        return changed

    def with_changes(self, text_of: Callable[[Path], str | None]) -> Self | None:
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

    def with_document(self, path: Path, document: Document) -> Self:
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

    def bib_at(self, path: Path) -> BibFile | Problem | None:
        """Any bibliography, declared or not; None when there is no such file."""
        text = self._cache.text(path, self._read)
        return self._cache.bib(path, text) if isinstance(text, str) else text

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
