"""The files of a library on disk, and the records that describe them.

    <library>/
        CURRENT                     id of the snapshot that counts, swapped by one rename
        sources.json                what was added, kept by the builder
        snapshots/<id>/             manifest.json, dead.<segment>.npy, quarantine.<segment>.npy
        segments/<id>/              segment.json, catalogue.sqlite, columns, one folder per index
        staging/                    a build that is not finished
        card.json                   of a library that is shipped: what it holds, and lacks
        accepted.jsonl              of the library `accepted`: the records that it is built from

Nothing under `snapshots` and `segments` changes once CURRENT names it. The id of a snapshot ends
with the hash of its manifest, the manifest holds the hash of every `segment.json`, and that holds
the hash and size of every file: starting from CURRENT, every damaged file can be detected.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell.options.folders import data_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
"""Version of this layout; a library with another version is refused."""

CURRENT = "CURRENT"
SOURCES = "sources.json"
MANIFEST = "manifest.json"
SEGMENT = "segment.json"
CATALOGUE = "catalogue.sqlite"
YEARS = "year.npy"
CITATIONS = "citations.npy"

LOCK = "lock"
CARD = "card.json"
ACCEPTED = "accepted.jsonl"
ENTRIES = frozenset({CURRENT, SOURCES, LOCK, CARD, ACCEPTED, "snapshots", "segments", "staging"})
"""All entries of a library's folder."""
_LEFTOVER = re.compile(rf"\.(?:{CURRENT}|{re.escape(SOURCES)})\.[0-9a-f]+\.tmp")
_SYSTEM = frozenset({"Thumbs.db", "ehthumbs.db", "desktop.ini", "lost+found", "@eaDir"})
_REPOSITORIES = frozenset({".git", ".hg", ".svn"})

_MAX_RECORD = 64 << 20
_SNAPSHOT = re.compile(r"\d{6,}-[0-9a-f]{16}")
_SEGMENT = re.compile(r"\d{6,}-[0-9a-f]{8}")
_FILE = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/){0,4}[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class FileRecord(msgspec.Struct, frozen=True):
    """Size in bytes and hex BLAKE2b (16 bytes) of one file of a segment."""

    size: int
    blake2b: str


class SegmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`segment.json`: written last, when every other file of the segment is in place."""

    kind: str = "citewell-segment"
    format: int = FORMAT
    id: str
    count: int
    indexes: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Index name to its builder's fingerprint."""
    origins: tuple[str, ...] = ()
    """Sources (keys of sources.json) of the records in the segment."""
    files: dict[str, FileRecord]
    """Every other file of the segment, by its relative POSIX path."""


class SegmentUse(msgspec.Struct, frozen=True, kw_only=True):
    """One segment in a snapshot."""

    id: str
    count: int
    dead: int = 0
    """Number of rows superseded or removed; they are listed in `dead.<id>.npy` of the snapshot."""
    record: str
    """Hash of its segment.json."""
    dead_hash: str = ""
    quarantined: int = 0
    """Number of rows with a malformed name, excluded from searches; they are listed in
    `quarantine.<id>.npy` of the snapshot."""
    quarantine_hash: str = ""


class CitingUse(msgspec.Struct, frozen=True, kw_only=True):
    """The citation data of one source: a folder beside the segments, sealed like them."""

    id: str
    record: str
    """Hash of its segment.json."""
    encoder: str
    """Fingerprint of the encoder of its vectors."""
    papers: int = 0
    """Number of papers with data."""
    lists: int = 0
    """Number of citing papers."""
    passages: int = 0
    texts: int = 0
    """Number of papers with full text."""


class SourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of one source to a snapshot."""

    path: str
    format: str
    fingerprint: str
    """Hash of its content."""
    stamp: str = ""
    """Hash of its files' names, sizes and times: while it is unchanged, nothing is read."""
    records: int = 0
    """Records read."""
    bad: int = 0
    malformed: int = 0
    """Records with a damaged author list; it is displayed, but no evidence against a reference."""
    """Records left out because they could not be read."""
    skipped: int = 0
    """Records left out on purpose: proceedings volumes, front matter."""
    citing: CitingUse | None = None
    """The citation data of its records, if they have any."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`: one snapshot of a library."""

    kind: str = "citewell-library"
    format: int = FORMAT
    citewell: str = ""
    """Version of Citewell that built it."""
    created: str = ""
    """ISO 8601, UTC."""
    works: int = 0
    """Live works in all segments."""
    merged: int = 0
    """Number of records merged into another one, over the life of the library."""
    titles: int = 0
    """Distinct normalised titles among the live works, when counted (full builds); else 0."""
    segments: tuple[SegmentUse, ...] = ()
    sources: dict[str, SourceUse] = msgspec.field(default_factory=dict)
    indexes: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    previous: str = ""
    """The snapshot that this one replaced."""


def default_libraries_dir() -> Path:
    """The default folder for libraries: in the user's data folder."""
    return data_folder() / "libraries"


def library_path(folder: Path | None, name: str) -> Path:
    """Folder of the library `name`; raises `LibraryError` for an invalid file name."""
    if not _NAME.fullmatch(name):
        raise library_error("library-name", f"Invalid library name: {name!r}.")
    return (folder or default_libraries_dir()) / name


def digest(data: bytes) -> str:
    """Hex BLAKE2b of 16 bytes, the hash used for every file of a library."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def file_digest(path: Path) -> str:
    """Hex BLAKE2b of 16 bytes of a file of any size, read in pieces."""
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def snapshot_id(number: int, manifest: bytes) -> str:
    """Id of the snapshot with this manifest: an increasing number and the manifest's hash."""
    return f"{number:06d}-{digest(manifest)[:16]}"


def dead_file(segment: str) -> str:
    """Name of the file with the dead rows of a segment (int32, sorted)."""
    return f"dead.{segment}.npy"


def quarantine_file(segment: str) -> str:
    """Name of the file with the quarantined rows of a segment (int32, sorted)."""
    return f"quarantine.{segment}.npy"


def is_library(path: Path) -> bool:
    """True for a folder with a library, complete or not."""
    return (path / CURRENT).is_file()


def is_begun(path: Path) -> bool:
    """True for the folder of a library, built or not: it has a snapshot or sources."""
    return is_library(path) or (path / SOURCES).is_file()


def leftovers(library: Path) -> list[Path]:
    """Files left by a killed writer: those that it was about to rename."""
    return [path for path in library.iterdir() if _LEFTOVER.fullmatch(path.name)]


def strangers(path: Path) -> list[str]:
    """The sorted names of a folder's entries that Citewell did not create: neither part of a
    library, nor left by a killed writer, nor created by a file manager (`.DS_Store`)."""
    found = (entry.name for entry in path.iterdir())
    return sorted(
        name
        for name in found
        if name not in ENTRIES
        and name not in _SYSTEM
        and (not name.startswith(".") or name in _REPOSITORIES)
    )


def existing_libraries(folder: Path) -> str:
    """ " Existing libraries: mine, starter.", from a folder and the starter; empty if there are
    none."""
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [place.name for place in places if place.is_dir() and is_library(place)]
    if installed_starter() is not None:
        names.append(STARTER)
    return f" Existing libraries: {', '.join(dict.fromkeys(names))}." if names else ""


def current_snapshot(library: Path) -> str:
    """The id in CURRENT. Raises `LibraryError`: missing, foreign, corrupt or unreadable."""
    if not library.is_dir():
        parent = library.parent
        message = f"No library in this folder.{existing_libraries(parent)}"
        if (parent / CURRENT).is_file():
            message = (
                f"No library in this folder, but {parent} is one: set `library.path` to "
                f"{parent.parent} and `library.name` to {parent.name}."
            )
        raise library_error("library-missing", message, library)
    try:
        data = _read_bounded(library / CURRENT, 256)
    except FileNotFoundError:
        if is_begun(library) or not strangers(library):
            raise library_error(
                "library-missing", "The library in this folder is not built yet.", library
            ) from None
        raise library_error("library-foreign", "This folder is not a library.", library) from None
    snapshot = data.decode("ascii", "replace").strip()
    if not _SNAPSHOT.fullmatch(snapshot):
        raise library_error("library-corrupt", "CURRENT does not name a snapshot.", library)
    return snapshot


def read_manifest(library: Path, snapshot: str) -> Manifest:
    """The manifest of a snapshot, checked against the hash in the snapshot's id."""
    path = library / "snapshots" / snapshot / MANIFEST
    try:
        data = _read_bounded(path, _MAX_RECORD)
    except FileNotFoundError:
        raise library_error("library-corrupt", "The manifest is missing.", path) from None
    if digest(data)[:16] != snapshot.rpartition("-")[2]:
        raise library_error("library-corrupt", "The manifest is damaged.", path)
    manifest = _decode(data, Manifest, path, "citewell-library")
    names = [use.id for use in manifest.segments]
    names += [source.citing.id for source in manifest.sources.values() if source.citing]
    if not all(map(_SEGMENT.fullmatch, names)):
        raise library_error("library-corrupt", "The manifest names an invalid segment.", path)
    return manifest


def read_segment_record(folder: Path, expected: str) -> SegmentRecord:
    """`segment.json` of a segment, checked against the hash in the manifest."""
    path = folder / SEGMENT
    try:
        data = _read_bounded(path, _MAX_RECORD)
    except FileNotFoundError:
        raise library_error("library-corrupt", "The segment's record is missing.", path) from None
    if digest(data) != expected:
        raise library_error("library-corrupt", "The segment's record is damaged.", path)
    record = _decode(data, SegmentRecord, path, "citewell-segment")
    if not all(_FILE.fullmatch(name) for name in record.files):
        raise library_error("library-corrupt", "A file lies outside its segment.", path)
    return record


_Record = TypeVar("_Record", Manifest, SegmentRecord)


def _decode(data: bytes, kind: type[_Record], path: Path, name: str) -> _Record:
    try:
        head = msgspec.json.decode(data)
    except msgspec.DecodeError:
        raise library_error("library-corrupt", "The record is not valid JSON.", path) from None
    if not isinstance(head, dict) or head.get("kind") != name:
        raise library_error("library-foreign", "This is not a record of a library.", path)
    version = head.get("format")
    if not isinstance(version, int):
        raise library_error("library-corrupt", "The record has no format version.", path)
    if version != FORMAT:
        code = "library-newer" if version > FORMAT else "library-older"
        message = f"The library has format {version}, this Citewell reads {FORMAT}."
        raise library_error(code, message, path)
    try:
        return msgspec.convert(head, kind)
    except msgspec.ValidationError as error:
        raise library_error("library-corrupt", f"The record is invalid: {error}.", path) from None


def _read_bounded(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        message = f"The file cannot be read: {error.strerror or error}."
        raise library_error("library-unreadable", message, path) from None
    if len(data) > limit:
        raise library_error("library-corrupt", "The file is too large.", path)
    return data


PACKAGE = "citewell_starter"
FOLDER = "library"
STARTER = "starter"
"""The name of the starter in `library.name`."""


def installed_starter() -> Path | None:
    """Folder of the installed starter library, found without importing its package, or None."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / FOLDER
    return folder if (folder / "CURRENT").is_file() else None


def starter_folder() -> Path:
    """Folder of the installed starter library. Raises `LibraryError` "starter-missing"."""
    folder = installed_starter()
    if folder is None:
        raise library_error("starter-missing", "The starter library is not installed.")
    return folder


# The contract between a library and its indexes.


class SegmentView(msgspec.Struct, frozen=True):
    """One segment from a retriever's point of view."""

    path: Path
    base: int
    """Library-wide number of the segment's row 0."""
    count: int
    dead: NDArray[np.bool_] | None = None
    """Mask of shape (count,): rows superseded by a later segment or removed. None: all are live."""

    def index(self, name: str) -> Path:
        """Folder of the index `name` in this segment."""
        return self.path / name


class IndexBuilder(Protocol):
    """Builds one kind of index for one segment. One per retriever.

    `build` may be killed at any time and called again with the same arguments: it then resumes or
    starts over. The caller marks the index as finished in the segment's record after `build` has
    returned, so that an unfinished folder never looks finished.
    """

    name: str
    """Folder name, also the retriever's name: "bm25", "dense"."""

    def fingerprint(self) -> Mapping[str, Any]:
        """JSON-ready facts that identify the index: format version, model, settings."""
        ...

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write the index of `count` works into the existing folder `into`, which may not be empty.

        `works()` starts a fresh pass over the works in row order; `progress(n)` reports n more.
        """
        ...
