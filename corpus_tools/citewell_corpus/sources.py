"""The sources of a library: `sources.json`, and fingerprints that detect changes.

A source is a file, a folder, or a pattern such as `works/*.gz`. The files of a pattern are read
one by one, several at a time, and an interrupted build continues with the next file. A running
Zotero is exported to a file through Better BibTeX's pull export.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.layout import SOURCES
from citewell.model import Problem, Work
from citewell_corpus.importers import find_importer, importer_named
from citewell_corpus.importers.contract import Importer
from citewell_corpus.importers.manuscript import ManuscriptImporter
from citewell_corpus.segment_writer import write_whole

_LOOKED_AT = 5
"""Number of files of a pattern tried to find its format."""


class FileSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source: a file, a folder or a pattern of files."""

    path: str
    """Absolute path or pattern."""
    format: str
    """Name of the importer."""
    kinds: tuple[str, ...] = ()
    """Kinds of works to read (entry types: "article"); empty: all."""
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the languages to read; empty: all."""
    strict_language: bool = False
    """Works without a stated language are left out, too."""
    with_abstract: bool = False
    """Works without an abstract are left out."""

    @property
    def filters(self) -> str:
        """The filters as one text, which is part of a fingerprint; empty without filters."""
        return "".join(
            (
                *(f" {kind}" for kind in self.kinds),
                *(f" language={code}" for code in self.languages),
                " strict" if self.languages and self.strict_language else "",
                " abstract" if self.with_abstract else "",
            )
        )

    def leaves_out(self, work: Work) -> str:
        """The reason why the work is not read, such as "kind book"; empty if it is."""
        if self.kinds and work.kind not in self.kinds:
            return f"kind {work.kind}"
        if self.languages and work.language not in self.languages:
            if work.language:
                return f"language {work.language}"
            if self.strict_language:
                return "no language stated"
        return "no abstract" if self.with_abstract and not work.abstract else ""


class _Sources(msgspec.Struct):
    format: int = 1
    sources: dict[str, FileSource] = msgspec.field(default_factory=dict)
    released: tuple[str, ...] = ()
    """Ids of works that the user released from quarantine."""


def read_sources(library: Path) -> dict[str, FileSource]:
    """The library's sources by name; empty when there are none yet."""
    return _read(library).sources


def read_released(library: Path) -> frozenset[str]:
    """Ids of the works that the user released from quarantine."""
    return frozenset(_read(library).released)


def _read(library: Path) -> _Sources:
    path = library / SOURCES
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _Sources()
    try:
        return msgspec.json.decode(data, type=_Sources)
    except msgspec.DecodeError as error:
        message = f"The list of sources is damaged: {error}."
        raise library_error("library-corrupt", message, path) from None


def write_sources(library: Path, sources: dict[str, FileSource]) -> None:
    """Replace the library's list of sources."""
    _write(library, _Sources(sources=sources, released=_read(library).released))


def write_released(library: Path, ids: Iterable[str]) -> None:
    """Release further works from quarantine, also in later builds."""
    known = _read(library)
    released = tuple(sorted({*known.released, *ids}))
    _write(library, _Sources(sources=known.sources, released=released))


def _write(library: Path, known: _Sources) -> None:
    data = msgspec.json.encode(known)
    write_whole(library / SOURCES, msgspec.json.format(data, indent=1))


def source_at(text: str, format: str = "") -> FileSource:
    """The source with a path from the user.

    Raises `LibraryError`: source-missing, source-unknown.
    """
    path = plain_path(text)
    _see(path, "File or folder not found.")
    importer = importer_named(format) if format else _recognised(path)
    if importer is None:
        raise library_error("source-unknown", "The format was not recognised.", path)
    return FileSource(path=str(path), format=importer.name)


def plain_path(text: str) -> Path:
    """The absolute path without `..`, so that a file is one source in any spelling.

    Links are not followed: a `..` after one stays, because it refers to the parent of its target.
    """
    path = Path(text).expanduser().absolute()
    plain = Path(path.anchor)
    for part in path.parts[1:]:
        if part == ".." and plain.name != ".." and not plain.is_symlink():
            plain = plain.parent
        else:
            plain /= part
    return plain


def _recognised(path: Path) -> Importer | None:
    """The importer of the path; of a pattern, that of the first recognised file."""
    if not is_pattern(path):
        return find_importer(path)
    found = (find_importer(file) for file in matching_files(path)[:_LOOKED_AT])
    return next((importer for importer in found if importer is not None), None)


def is_pattern(path: Path) -> bool:
    """True if the path has wildcards and names no existing file or folder."""
    return glob.has_magic(str(path)) and not path.exists()


def matching_files(pattern: Path) -> list[Path]:
    """The files that match a pattern, sorted; `**` stands for any folders."""
    below = pattern.relative_to(pattern.anchor)
    return sorted(path for path in Path(pattern.anchor).glob(str(below)) if path.is_file())


def location(source: FileSource) -> tuple[Importer, Path]:
    """The importer of the source and its path. Raises `LibraryError` if it is missing."""
    importer = importer_named(source.format)
    path = Path(source.path)
    _see(path, "The source no longer exists.")
    return importer, path


def _see(path: Path, missing: str) -> None:
    if is_pattern(path):
        if not matching_files(path):
            raise library_error("source-missing", "No file matches the pattern.", path)
        return
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise library_error("source-missing", missing, path) from None
    except OSError as error:
        message = f"The source cannot be read: {error.strerror or error}."
        raise library_error("source-unreadable", message, path) from None


def fingerprint(importer: Importer, path: Path) -> str:
    """Hash of the contents that the importer reads, and of its version.

    Of a pattern, it is the stamp: hundreds of gigabytes are not read twice.
    """
    if is_pattern(path):
        return stamp(importer, path)
    state = hashlib.blake2b(digest_size=16)
    state.update(f"{importer.name}:{importer.version}".encode())
    for file in _files(importer, path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        state.update(f"\0{name}\0".encode())
        try:
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    state.update(block)
        except OSError as error:
            message = f"The file cannot be read: {error.strerror or error}."
            raise library_error("source-unreadable", message, file) from None
    return state.hexdigest()


def stamp(importer: Importer, path: Path) -> str:
    """Hash of the names, sizes and times of the files that the importer reads."""
    state = hashlib.blake2b(f"{importer.name}:{importer.version}".encode(), digest_size=16)
    for file in _files(importer, path):
        facts = file.stat()
        state.update(f"\0{file}\0{facts.st_size}\0{facts.st_mtime_ns}".encode())
    return state.hexdigest()


def size(importer: Importer, path: Path) -> int:
    """Size of the source in bytes, for the progress bar."""
    return sum(file.stat().st_size for file in _files(importer, path))


def _files(importer: Importer, path: Path) -> list[Path]:
    """The files to read: several for a folder, pattern or manuscript, otherwise the file itself."""
    if is_pattern(path):
        return matching_files(path)
    several = path.is_dir() or isinstance(importer, ManuscriptImporter)
    return importer.files(path) if several else [path]


ZOTERO_PREFIX, ZOTERO_FOLDER = "zotero:", ".zotero"
_ZOTERO_SECONDS = 120.0
"""Seconds; the first export runs at some hundred items per second."""
_ZOTERO_BYTES = 1 << 30


def fetch_zotero(text: str, base: str, folder: Path) -> Path:
    """Export "zotero:", "zotero:COLLECTION" or "zotero:GROUP/COLLECTION" into a file of `folder`,
    which is replaced in one step; return its path.

    A group is given by its number in Zotero. Raises `LibraryError`: zotero-away if Zotero does not
    respond, zotero-refused if it lacks Better BibTeX or the collection.
    """
    from citewell.sources import local

    wanted = text.removeprefix(ZOTERO_PREFIX).strip("/")
    if (problem := local.greet(base)) is not None:
        raise LibraryError(problem)
    data = local.pull(base, wanted, "json", seconds=_ZOTERO_SECONDS, max_bytes=_ZOTERO_BYTES)
    if isinstance(data, Problem):
        raise LibraryError(data)
    try:
        found = json.loads(data)
        items = len(found["items"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "Better BibTeX did not send its JSON export."
        raise _refused(message, "Update Better BibTeX.") from None
    if not items:
        message = f"Zotero has no items in {wanted or 'your library'}."
        raise _refused(message, "Check the name of the collection.")
    name = re.sub(r"[^\w.-]+", "-", wanted) or "library"
    path = folder / f"{name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return path


def _refused(message: str, hint: str) -> LibraryError:
    return LibraryError(Problem("zotero-refused", message, hint))
