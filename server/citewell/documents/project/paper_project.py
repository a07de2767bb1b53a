"""A paper with all its files: the works it cites, and the file for new entries."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from citewell.documents.project.declared_bibs import declaration_edit, is_collection
from citewell.documents.project.files import FileCache, Overlay
from citewell.documents.project.includes import absolute
from citewell.documents.project.project_files import ProjectFiles
from citewell.model.bib import BibEntry, BibFile, FileEdit
from citewell.model.document import CSL_SUFFIXES, MARKDOWN_SUFFIXES, Document, KeyUse
from citewell.model.problem import CitewellError, Problem
from citewell.model.query import CitingPaper, Reference
from citewell.options import Options
from citewell.options.tree import BibOptions, DocumentOptions

# The works that a paper cites, from its entries, as input of a search.

MOST_UNCITED = 300
"""Uncited entries above which a .bib is taken for a collection for all papers."""


def cited_works(
    keys: Sequence[str], documents: Iterable[Document], entries: Iterable[BibEntry]
) -> tuple[Reference, ...]:
    """The works of `keys` with an entry, each with its number of citations in the documents."""
    by_key: dict[str, BibEntry] = {}
    for entry in entries:
        by_key.setdefault(entry.key, entry)
    times = Counter(
        use.key
        for document in documents
        for citation in document.citations
        if not citation.command.startswith("nocite")
        for use in citation.keys
    )
    found = ((by_key.get(key), times[key]) for key in keys)
    return tuple(reference_of(entry, often) for entry, often in found if entry is not None)


def uncited_titles(bibs: Mapping[Path, BibFile], cited: Collection[str]) -> tuple[str, ...]:
    """Titles of the entries with keys outside `cited`; empty if there are too many to have been
    collected for the paper."""
    found: dict[str, None] = {}
    for path, bib in bibs.items():
        if not is_collection(path, bib):
            entries = (one for one in bib.entries if one.key not in cited)
            found.update((title, None) for one in entries if (title := one.body.get("title")))
    return tuple(found) if len(found) <= MOST_UNCITED else ()


def reference_of(entry: BibEntry, times: int = 0) -> Reference:
    """The reference of an entry for a search, with the paper's number of citations."""
    body = entry.body
    return Reference(
        title=body.get("title"),
        authors=tuple(author.family for author in body.authors),
        year=body.year,
        doi=body.doi,
        arxiv=body.arxiv,
        key=entry.key,
        times=times,
    )


# The files of a paper that Citewell may write.


class WriteAccess(msgspec.Struct, frozen=True):
    """The writable places of one paper: inside the workspace or beside an open file."""

    path: Path
    """The opened file."""
    root: Path
    """The main file of the paper."""
    roots: tuple[Path, ...]
    """The workspace's folders."""
    own_folders: Collection[Path]
    """Further writable folders outside the workspace."""
    target: Path | None
    """The .bib named in the settings."""

    def may_write(self, path: Path) -> bool:
        """True for a file that `may_hold` allows and that is writable."""
        if not self.may_hold(path):
            return False
        real = Path(os.path.realpath(path))
        try:
            if real.exists():
                return bool(real.stat().st_mode & 0o222) and os.access(real, os.W_OK)
            return real.parent.is_dir() and os.access(real.parent, os.W_OK)
        except OSError:
            return False

    def may_hold(self, path: Path) -> bool:
        """True for a place inside the workspace or beside an open file, links resolved.

        A `bib.target` below the paper may come from a `citewell.toml`; therefore no link may lead
        outside.
        """
        real = Path(os.path.realpath(path))
        if path == self.target and path.is_relative_to(self.root.parent):
            tops = (self.root.parent, *self.roots)
            return any(real.is_relative_to(os.path.realpath(top)) for top in tops)
        return any(real.is_relative_to(top) for top in self._folders())

    def _folders(self) -> Iterator[Path]:
        yield from (Path(os.path.realpath(top)) for top in (*self.roots, *self.own_folders))
        if not self.roots or self.path.parent in self.own_folders:
            folder = Path(os.path.realpath(self.root.parent))
            yield folder
            # For `../refs.bib`.
            if folder.parent not in (Path.home(), folder.parent.parent):
                yield folder.parent


DEFAULT_BIB = "references.bib"


class Project(ProjectFiles):
    """A paper in its current state, immutable once opened. Open it again when a file has changed;
    with the same `FileCache` that costs only the changes."""

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
        """Open the paper that `path` belongs to; never raises because of the contents of files.

        `roots` are the workspace's folders: for a file in one of them the search for a root file
        stays there, and nothing outside them and `own_folders` (those of open files) is ever
        written. `read` returns the text of unsaved buffers. `root` is the main file, if known.
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

    @property
    def bibliographies(self) -> tuple[BibFile, ...]:
        """The .bib files in the order of their declaration."""
        return tuple(self.bibs.values())

    def entries(self) -> Iterator[tuple[Path, BibEntry]]:
        """Every entry with its file, in order."""
        for path, bib in self.bibs.items():
            for entry in bib.entries:
                yield path, entry

    def entry(self, key: str) -> tuple[Path, BibEntry] | None:
        """The first entry with a key, and its file."""
        for path, bib in self.bibs.items():
            entry = bib.by_key.get(key)
            if entry is not None:
                return path, entry
        return None

    def uses(self, key: str) -> Iterator[tuple[Path, KeyUse]]:
        """The places that cite a key."""
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
        """The cited works with an entry in a .bib of the paper, in reading order."""
        entries = (entry for _, entry in self.entries())
        return cited_works(self.cited_keys(), self.documents.values(), entries)

    def uncited(self) -> tuple[str, ...]:
        """Titles of the entries that the paper does not cite yet; empty if there are too many to
        have been collected for it."""
        return uncited_titles(self.bibs, frozenset(self.cited_keys()))

    def citing_paper(self) -> CitingPaper:
        """The paper's context for a search: title, abstract, references."""
        documents = (self.root_document, *self.documents.values())
        return CitingPaper(
            title=next((d.title for d in documents if d.title), ""),
            abstract=next((d.abstract for d in documents if d.abstract), ""),
            references=self.references(),
            uncited=self.uncited(),
            project=str(self.root.parent),
        )

    def target_bib(self, for_path: Path | str | None = None) -> Path:
        """The .bib for new entries cited in `for_path`; it may not exist yet.

        This is the one named in the settings; else the first declared one that is writable, a
        file's own declarations first; else the first declared one; without any, `references.bib`
        beside the root. Call `may_write` before writing.
        """
        if self._named_target is not None:
            return self._named_target
        own = absolute(for_path) if for_path is not None else self.path
        declared = sorted(self._declared, key=lambda item: item[1] != own)
        known = [path for path, _ in declared] or list(self.bibs)
        # BibTeX entries go into a .bib if there is one.
        known.sort(key=lambda path: path.suffix.lower() in (*CSL_SUFFIXES, *MARKDOWN_SUFFIXES))
        # A collection such as the whole ACL Anthology is no place for an author's own entries.
        small = [path for path in known if not is_collection(path, self.bibs.get(path))]
        # Another file beside one that is not writable would not be the author's choice.
        known = small or known or [self.root.parent / DEFAULT_BIB]
        return next((path for path in known if self.may_write(path)), known[0])

    @property
    def _named_target(self) -> Path | None:
        """The .bib named in the settings."""
        named = self.bib_options.target
        return absolute(self.root.parent / Path(named).expanduser()) if named else None

    def declaration_edit(self, bib: Path | str) -> FileEdit | None:
        """The edit that makes the paper use `bib`; None if it does already or cannot."""
        path = absolute(bib)
        if any(path == declared for declared, _ in self._declared):
            return None
        return declaration_edit(self.root, self.documents, self.styles.values(), path)

    def may_write(self, path: Path) -> bool:
        """True for a file that `may_hold` allows and that is writable."""
        return self._access.may_write(path)

    def may_hold(self, path: Path) -> bool:
        """True for a place inside the workspace or beside an open file, links resolved."""
        return self._access.may_hold(path)

    @property
    def _access(self) -> WriteAccess:
        return WriteAccess(self.path, self.root, self.roots, self.own_folders, self._named_target)


# A paper given as texts by a program: scanned like any other, without access to the disk.

MAX_NAME = 200


class TextFiles(FileCache):
    """Reads texts from the overlay, and nothing from disk."""

    def __init__(self, options: DocumentOptions, paths: Collection[Path]) -> None:
        super().__init__(options)
        self.paths = paths
        """The given files."""

    def text(self, path: Path, overlay: Overlay | None = None) -> str | Problem | None:
        text = None if overlay is None else overlay(path)
        return None if text is None else super().text(path, lambda _: text)


class TextProject(Project):
    """A paper given as texts by name. Their folder does not exist, so that no file on disk can be
    mistaken for a part of the paper."""

    @classmethod
    def of(cls, texts: Mapping[str, str], main: str, options: Options) -> TextProject:
        """The paper that the file `main` belongs to. Raises `CitewellError` for a name that leads
        outside the paper."""
        folder = Path(os.path.abspath(os.sep)) / f"citewell-{secrets.token_hex(16)}"  # noqa: PTH100
        held = {folder / _name(name): text for name, text in texts.items()}
        opened = cls.open(
            folder / _name(main),
            options.documents,
            roots=[folder],
            read=held.get,
            bib_options=options.bib,
            cache=TextFiles(options.documents, held),
        )
        assert isinstance(opened, cls)
        return opened

    def name_of(self, path: Path | str) -> str:
        """The name of a file of the paper, with slashes."""
        below = Path(path).relative_to(self.roots[0])
        return below.as_posix()

    def fresh_cache(self) -> FileCache:
        return TextFiles(self._cache.options, self._paths)

    def may_write(self, path: Path) -> bool:
        """True for paths inside the paper's own folder; the caller writes them."""
        return path.is_relative_to(self.roots[0])

    def _is_file(self, path: Path) -> bool:
        return self._read is not None and self._read(path) is not None

    def _matching(self, folder: Path, pattern: str) -> Iterable[Path]:
        whole = str(absolute(folder / pattern))
        return (path for path in self._paths if path.match(whole))

    def _lone_bib(self) -> Path | None:
        beside = [path for path in self._paths if path.parent == self.root.parent]
        found = [path for path in beside if path.suffix.lower() == ".bib"]
        return found[0] if len(found) == 1 else None

    @property
    def _paths(self) -> Collection[Path]:
        return self._cache.paths if isinstance(self._cache, TextFiles) else ()


def _name(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    bad = not path.parts or path.is_absolute() or ".." in path.parts or len(name) > MAX_NAME
    if bad or any(char in name for char in '\\:\0\n<>"|?*'):
        raise CitewellError(
            Problem(
                "file-name",
                f"{name[:MAX_NAME]!r} is not a valid file name for the paper.",
                "Use a relative path with slashes, such as sections/intro.tex.",
            )
        )
    return path
