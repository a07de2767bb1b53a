"""How a compact segment stores numbers and texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

LEVEL = 19
_MAX_TABLE = 256 << 20
"""Bytes that one table may have when it is decompressed."""


class _Header(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]


def encode_varints(values: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """LEB128 bytes of non-negative numbers, and how many bytes each takes, shape (len(values),)."""
    rest = np.asarray(values, np.int64)
    if len(rest) and rest.min() < 0:
        raise ValueError("a varint cannot be negative")
    sizes = np.ones(len(rest), np.int64)
    for bits in range(7, 63, 7):
        sizes += rest >= 1 << bits
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    begin = ends - sizes
    for place in range(int(sizes.max(initial=0))):
        here = sizes > place
        more = np.where(sizes[here] > place + 1, 128, 0)
        out[begin[here] + place] = (rest[here] >> 7 * place & 127) | more
    return out, sizes


def decode_varints(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The numbers of LEB128 bytes. Raises `ValueError` when the last one is cut."""
    more = data >= 128
    if not more.any():
        return data.astype(np.int64)
    if more[-1]:
        raise ValueError("a number is cut")
    ends = np.flatnonzero(~more)
    starts = np.empty(len(ends), np.int64)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    extra = ends - starts
    values = (data[starts] & 127).astype(np.int64)
    for place in range(1, int(extra.max()) + 1):
        here = np.flatnonzero(extra >= place)
        values[here] |= (data[starts[here] + place] & 127).astype(np.int64) << 7 * place
    return values


def gather_runs(
    data: NDArray[Any], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[Any]:
    """The runs [starts[i], starts[i] + counts[i]) of `data`, end to end."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    place = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    run: NDArray[Any] = data[place]
    return run


def starts_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Where each run begins, and where the last one ends, shape (len(counts) + 1,)."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def save_table(path: Path, array: NDArray[Any]) -> None:
    """Write an array compressed; its bytes are grouped by significance, which compresses better."""
    array = np.ascontiguousarray(array)
    raw = array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()
    head = msgspec.json.encode(_Header(array.dtype.str, array.shape))
    path.write_bytes(_compress(head + b"\n" + raw))


def load_table(path: Path) -> NDArray[Any]:
    """The array that `save_table` wrote. Raises `OSError` or `ValueError`."""
    head, _, raw = _decompress(path).partition(b"\n")
    try:
        header = msgspec.json.decode(head, type=_Header)
        dtype = np.dtype(header.dtype)
        count = int(np.prod(header.shape, dtype=np.int64))
        if dtype.hasobject or len(raw) != count * dtype.itemsize:
            raise ValueError("its header does not fit")
        planes = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, count)
        table: NDArray[Any] = np.ascontiguousarray(planes.T).view(dtype).reshape(header.shape)
        return table
    except (msgspec.DecodeError, TypeError, SyntaxError) as error:
        raise ValueError(str(error)) from None


def save_texts(path: Path, texts: Iterable[str]) -> None:
    """Write texts compressed; none may hold a NUL."""
    found = [text.encode("utf-8", "surrogatepass") for text in texts]
    if any(b"\0" in text for text in found):
        raise ValueError("a text holds a NUL")
    path.write_bytes(_compress(b"".join(text + b"\0" for text in found)))


class Texts(Sequence[str]):
    """The texts that `save_texts` wrote, by number."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` or `ValueError`."""
        self._blob = _decompress(path)
        self._ends = np.flatnonzero(np.frombuffer(self._blob, np.uint8) == 0)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        """The text with this number."""
        if not 0 <= number < len(self._ends):
            raise IndexError(number)
        begin = int(self._ends[number - 1]) + 1 if number else 0
        return self._blob[begin : int(self._ends[number])].decode("utf-8", "surrogatepass")


def _compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress(data)


def _decompress(path: Path) -> bytes:
    data = path.read_bytes()
    try:
        if zstandard.frame_content_size(data) > _MAX_TABLE:
            raise ValueError("it is far too large")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_TABLE)
    except zstandard.ZstdError as error:
        raise ValueError(f"it cannot be decompressed ({error})") from None
