"""Arrays that are computed once, stored in the user's cache, and mapped from there; set operations.

The weights ship compressed, and some arrays belong to one library. A process that makes them holds
a copy of its own, after a quarter of a second of work; a mapped file takes neither, and processes
share its pages.

`np.unique` and `np.isin` do more than the sets, and import the masked arrays of numpy for it, which
takes 6 ms.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model.system.files import write_atomically
from citewell.options.folders import cache_folder, make_private

logger = logging.getLogger(__name__)

FOLDER = "arrays"
_MAGIC = b"citewell arrays 1\n"
_ALIGNED = 64
_UNUSED_SECONDS = 30 * 86_400.0
"""A file that was not opened for so long is removed when another one of its name is written."""

Arrays = dict[str, NDArray[Any]]


class _ArrayLocation(msgspec.Struct, frozen=True):
    """The position of an array in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int


def mapped_arrays(
    name: str,
    sources: Sequence[Path],
    make: Callable[[], Mapping[str, NDArray[Any]]],
    *,
    facts: str = "",
    unused: float = _UNUSED_SECONDS,
) -> Arrays:
    """The arrays that `make` returns, read-only, mapped from a file of the cache.

    They are computed once for each `name`, `facts` and content of the files `sources`: a `make`
    that returns other arrays needs another name. Files of the name that were not opened for
    `unused` seconds are removed when one is written. If no file can be stored, the arrays are held
    in memory. Raises `OSError` for a source that cannot be read, and what `make` raises.
    """
    path = cache_folder() / FOLDER / f"{name}-{_digest(sources, facts)}.bin"
    found = _opened(path)
    if found is not None:
        return found
    made = dict(make())
    try:
        make_private(path.parent)
        write_atomically(path, _packed(made), mode=0o600)
        _remove_unused(path, name, unused)
    except OSError as error:
        logger.info("%s cannot be kept: %s", path, error)
        return made
    return _opened(path) or made


def _digest(sources: Sequence[Path], facts: str) -> str:
    digest = hashlib.blake2b(facts.encode(), digest_size=12)
    for path in sources:
        try:
            # The directory of an archive holds the checksums of its members.
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist():
                    digest.update(f"{member.filename} {member.CRC} {member.file_size}\n".encode())
        except zipfile.BadZipFile:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _opened(path: Path) -> Arrays | None:
    """The arrays of a file; None if it is missing or incomplete."""
    try:
        mapped: Any = np.memmap(path, np.uint8, "r").view(np.ndarray)
        raw = memoryview(mapped)
        header = raw[len(_MAGIC) : len(_MAGIC) + 8]
        if raw[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it is another kind of file")
        begin = len(_MAGIC) + 8 + int.from_bytes(header, "little")
        described = raw[len(_MAGIC) + 8 : begin]
        places = msgspec.json.decode(described, type=dict[str, _ArrayLocation])
        if zlib.crc32(described).to_bytes(4, "little") != raw[begin : begin + 4]:
            raise ValueError("its header is damaged")
        found = {name: _array(mapped, place) for name, place in places.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, msgspec.MsgspecError) as error:
        logger.info("%s is made again: %s", path, error)
        return None
    with suppress(OSError):
        os.utime(path)
    return found


def _array(mapped: NDArray[np.uint8], place: _ArrayLocation) -> NDArray[Any]:
    dtype = np.dtype(place.dtype)
    end = place.begin + int(np.prod(place.shape, dtype=np.int64)) * dtype.itemsize
    if end > len(mapped):
        raise ValueError("it is cut off")
    array: NDArray[Any] = mapped[place.begin : end].view(dtype).reshape(place.shape)
    return array


def _packed(arrays: Mapping[str, NDArray[Any]]) -> bytearray:
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    places = {
        name: _ArrayLocation(array.dtype.str, array.shape, 0) for name, array in plain.items()
    }
    # The header's length depends on the offsets in it: it has room for the greatest numbers.
    room = len(_MAGIC) + 12 + len(msgspec.json.encode(places)) + 20 * len(places)
    end = room
    for name, array in plain.items():
        begin = -(-end // _ALIGNED) * _ALIGNED
        places[name] = _ArrayLocation(array.dtype.str, array.shape, begin)
        end = begin + array.nbytes
    header = msgspec.json.encode(places)
    out = bytearray(end)
    checksum = zlib.crc32(header).to_bytes(4, "little")
    head = _MAGIC + len(header).to_bytes(8, "little") + header + checksum
    out[: len(head)] = head
    for name, array in plain.items():
        at = places[name].begin
        out[at : at + array.nbytes] = array.reshape(-1).view(np.uint8).data
    return out


def _remove_unused(path: Path, name: str, unused: float) -> None:
    oldest = time.time() - unused
    for other in path.parent.glob(f"{name}-*.bin"):
        with suppress(OSError):
            if other != path and other.stat().st_mtime < oldest:
                other.unlink()


_T = TypeVar("_T", bound=np.generic)


def distinct(values: NDArray[_T]) -> NDArray[_T]:
    """The distinct values of an array without NaN, ascending."""
    rising = np.sort(np.asarray(values), axis=None)
    is_first = np.empty(len(rising), np.bool_)
    is_first[:1] = True
    np.not_equal(rising[1:], rising[:-1], out=is_first[1:])
    return rising[is_first]


def is_among(values: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the values that are among the others, in the shape of the values; none is NaN."""
    if not len(others):
        return np.zeros(np.shape(values), np.bool_)
    rising = np.sort(others)
    places = np.searchsorted(rising, values)
    places[places == len(rising)] = 0
    among: NDArray[np.bool_] = rising[places] == values
    return among


def ranges(
    begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the ranges [begin, end) in sequence, and the range of each."""
    count = end - begin
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    return np.arange(len(owner)) + (begin - first)[owner], owner
