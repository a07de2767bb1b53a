"""The position of each paper in its proceedings: volume, number and pages.

The numbers of all papers show whether a volume is complete. Reading thousands of records for that
takes most of a second, so each segment stores the numbers as columns.
"""

from __future__ import annotations

import hashlib
import logging
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.records import load_places
from citewell.corpus.library import Library
from citewell.model import Work
from citewell.model.titles import normalise_title

logger = logging.getLogger(__name__)

FORMAT = 1
"""Changes with the files and with every rule below: columns of another format are not read."""
NAME = "volumes"
_REPORTED = 4096
_LONGEST = 200
"""Maximum number of pages of a paper with appendices; a longer range is a volume's."""
_MINOR = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|findings|companion|student|tutorials?|abstracts?|"
    r"challenge|competition|doctoral|symposium|posters?|industry|industrial|blog|shared|track|"
    r"datasets|srw)\b"
)
_ANTHOLOGY = (
    re.compile(r"^acl:(?P<volume>\d{4}\.[a-z]+-(?P<part>[a-z]+|\d))\.(?P<number>\d{1,6})$"),
    re.compile(r"^acl:(?P<volume>[A-VX-Z]\d\d-(?P<part>\d))(?P<number>\d{3})$"),
)
_MAIN_PARTS = frozenset({"main", "long", "short", "1", "2"})
_NUMBERED_DOI = (
    re.compile(r"^(?P<volume>10\.1109/[a-z]+\d*\.\d{4})\.(?P<number>\d{1,5})$"),
    re.compile(r"^(?P<volume>10\.24963/ijcai\.\d{4})/(?P<number>\d{1,5})$"),
    re.compile(r"^(?P<volume>10\.52202/\d+)-(?P<number>\d{1,5})$"),
)
_PAGES = re.compile(r"^\s*(\d{1,6})\s*[-–—]+\s*(\d{1,6})\s*$")


class Numbered(Protocol):
    """The fields of a record that determine its position."""

    @property
    def id(self) -> str: ...
    @property
    def venue(self) -> str: ...
    @property
    def booktitle(self) -> str: ...
    @property
    def pages(self) -> str: ...
    @property
    def doi(self) -> str: ...
    @property
    def same_as(self) -> tuple[str, ...]: ...


class Volumes(msgspec.Struct, frozen=True):
    """The positions of some papers, one value a paper in each array."""

    minor: NDArray[np.bool_]
    """Papers of a workshop, a demonstration session or another minor part."""
    volume: NDArray[np.uint64]
    """`volume_key` of the volume in which the paper is numbered; 0 for none."""
    number: NDArray[np.int32]
    """Its number there; 0 for none."""
    first_page: NDArray[np.int32]
    last_page: NDArray[np.int32]
    """0 if the pages of the record are no range of one paper."""

    def __len__(self) -> int:
        return len(self.minor)

    def take(self, which: NDArray[Any]) -> Volumes:
        """The positions of the papers at these indices, or under a mask."""
        return Volumes(*(getattr(self, name)[which] for name in self.__struct_fields__))


def volume_key(volume: str) -> int:
    """64-bit key of a volume's name, such as "2021.findings-acl"; never 0."""
    return int.from_bytes(hashlib.blake2b(volume.encode(), digest_size=8).digest(), "little") or 1


def _is_minor(work: Numbered) -> bool:
    """True for a paper of a workshop, a demonstration session or another minor part."""
    for identifier in (work.id, *work.same_as):
        for pattern in _ANTHOLOGY:
            found = pattern.match(identifier)
            if found and found["part"] not in _MAIN_PARTS:
                return True
    # The place, the date, and co-located meetings follow a comma.
    place = work.booktitle.partition(",")[0]
    return _MINOR.search(normalise_title(f"{place} {work.venue}")) is not None


def places_of(works: Iterable[Numbered], progress: Callable[[int], None] | None = None) -> Volumes:
    """The positions of these works, in order."""
    minor, volume, number = array("b"), array("Q"), array("i")
    first, last = array("i"), array("i")
    keys: dict[str, int] = {"": 0}
    for count, work in enumerate(works, 1):
        name, place = _number_of(work)
        if name not in keys:
            keys[name] = volume_key(name)
        begin, end = _pages_of(work)
        minor.append(_is_minor(work))
        volume.append(keys[name])
        number.append(place)
        first.append(begin)
        last.append(end)
        if progress is not None and count % _REPORTED == 0:
            progress(_REPORTED)
    if progress is not None:
        progress(len(minor) % _REPORTED)
    return Volumes(
        np.array(minor, np.bool_),
        np.array(volume, np.uint64),
        np.array(number, np.int32),
        np.array(first, np.int32),
        np.array(last, np.int32),
    )


def _number_of(work: Numbered) -> tuple[str, int]:
    """Volume and number of a paper, from its Anthology identifier or its DOI; "" and 0 for none."""
    for identifier in (work.id, *work.same_as):
        for pattern in _ANTHOLOGY:
            if found := pattern.match(identifier):
                return found["volume"], int(found["number"])
    for pattern in _NUMBERED_DOI:
        if found := pattern.match(work.doi):
            return found["volume"], int(found["number"])
    return "", 0


def _pages_of(work: Numbered) -> tuple[int, int]:
    """First and last page; 0 and 0 if they are no range of one paper."""
    found = _PAGES.match(work.pages)
    if found is None:
        return 0, 0
    begin, end = int(found[1]), int(found[2])
    return (begin, end) if 0 < end - begin + 1 <= _LONGEST else (0, 0)


class VolumesBuilder:
    """Writes the positions of one segment's papers."""

    name = NAME

    def fingerprint(self) -> Mapping[str, Any]:
        """The format alone: there are no settings."""
        return {"format": FORMAT}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write one .npy file for each column."""
        places = places_of(works(), progress)
        if len(places) != count:
            raise ValueError(f"{count} works were announced and {len(places)} came")
        for field in Volumes.__struct_fields__:
            np.save(into / f"{field}.npy", getattr(places, field), allow_pickle=False)


class LibraryPlaces:
    """The positions of a library's papers. Damaged columns hold no position: no volume is then
    known as complete."""

    def __init__(self, library: Library) -> None:
        self._parts: list[Volumes] | None = None
        views = library.whole_segments
        if all(built == {"format": FORMAT} for built in library.indexes(NAME)):
            try:
                self._parts = [_open(view.index(NAME), view.count) for view in views]
            except (OSError, ValueError) as error:
                logger.warning("The numbers of papers in volumes cannot be read: %s", error)
        self._bases = np.array([view.base for view in views], np.int64)

    def take(self, rows: NDArray[np.int64]) -> Volumes:
        """The positions of the papers in these rows, which must be ascending."""
        if self._parts is None:
            return places_of(())
        bounds = [*np.searchsorted(rows, self._bases).tolist(), len(rows)]
        pieces = [
            part.take(rows[begin:end] - base)
            for part, base, begin, end in zip(
                self._parts, self._bases, bounds, bounds[1:], strict=False
            )
        ]
        if not pieces:
            return places_of(())
        if len(pieces) == 1:
            return pieces[0]
        return Volumes(
            *(
                np.concatenate([getattr(piece, name) for piece in pieces])
                for name in Volumes.__struct_fields__
            )
        )


def _open(folder: Path, count: int) -> Volumes:
    compact = load_places(folder, count)
    if compact is not None:
        return Volumes(*compact)
    places = Volumes(
        *(
            np.load(folder / f"{name}.npy", mmap_mode="r" if count else None, allow_pickle=False)
            for name in Volumes.__struct_fields__
        )
    )
    if {len(getattr(places, name)) for name in Volumes.__struct_fields__} != {count}:
        raise ValueError("the files do not belong together")
    return places


__all__ = [
    "LibraryPlaces",
    "Numbered",
    "Volumes",
    "VolumesBuilder",
    "places_of",
    "volume_key",
]
