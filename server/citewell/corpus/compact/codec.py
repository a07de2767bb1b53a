"""Encodings of numbers and texts in a compact segment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

LEVEL = 19
_WINDOW = 4
"""Bytes that contain the lower bits of a row number."""
_MAX_TABLE = 256 << 20
"""Maximum bytes of a decompressed table."""


class _Header(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]


def encode_varints(values: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """LEB128 bytes of non-negative numbers, and the length of each, shape (len(values),)."""
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
    """Decode LEB128 bytes. Raises `ValueError` when the last number is cut."""
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


def short_varints(data: bytes) -> list[int]:
    """Decode a short run of LEB128 bytes, for which an array takes ten times as long. Raises
    `ValueError` when the last number is cut."""
    values = []
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        if byte >= 128:
            shift += 7
        else:
            values.append(value)
            value = shift = 0
    if shift:
        raise ValueError("a number is cut")
    return values


def row_widths(counts: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Number of lower bits of the row numbers in runs of `counts` of `rows` rows that makes each
    run shortest."""
    counts = np.asarray(counts, np.int64)
    # Of 274,000 runs, a few thousand differ in length.
    distinct = np.flatnonzero(np.bincount(counts))
    widths = range(max(1, rows.bit_length()))
    sizes = np.stack([_run_bits(distinct, rows, width) for width in widths])
    by_count = np.zeros(int(counts.max(initial=0)) + 1, np.int64)
    by_count[distinct] = sizes.argmin(axis=0)
    widths_of: NDArray[np.int64] = by_count[counts]
    return widths_of


def row_starts(counts: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """The start of each run written by `encode_rows`, in bits, shape (len(counts) + 1,)."""
    counts = np.asarray(counts, np.int64)
    return starts_of(_run_bits(counts, rows, row_widths(counts, rows)))


def encode_rows(values: NDArray[Any], counts: NDArray[Any], rows: int) -> NDArray[np.uint8]:
    """The Elias-Fano code of ascending row numbers below `rows`, in runs of `counts`.

    The lower bits of a run's numbers are stored side by side. The upper bits are stored in unary:
    for each number, as many zeros as they increase from the number before, then a one. That takes
    about two bits per number beyond the lower ones, and a run is decoded as a whole.
    """
    counts = np.asarray(counts, np.int64)
    width, starts = row_widths(counts, rows), row_starts(counts, rows)
    bits = np.zeros(int(starts[-1]), np.uint8)
    first = starts_of(counts)[:-1]
    place = np.arange(len(values)) - np.repeat(first, counts)
    own, begin = np.repeat(width, counts), np.repeat(starts[:-1], counts)
    numbers = np.asarray(values, np.int64)
    for bit in range(int(width.max(initial=0))):
        here = own > bit
        at = begin[here] + place[here] * own[here] + bit
        bits[at] = numbers[here] >> bit & 1
    bits[begin + np.repeat(counts * width, counts) + (numbers >> own) + place] = 1
    return np.concatenate([np.packbits(bits, bitorder="little"), np.zeros(_WINDOW, np.uint8)])


def decode_rows(
    data: NDArray[np.uint8], begin: int, end: int, count: int, width: int
) -> NDArray[np.int32]:
    """Decode the run of `count` numbers in the bits [begin, end). Raises `ValueError` when it is
    damaged."""
    upper = begin + count * width
    raw = np.asarray(data[upper >> 3 : (end + 7) >> 3])
    marks = np.unpackbits(raw, bitorder="little")[upper & 7 : (upper & 7) + end - upper]
    values = np.flatnonzero(marks.view(np.bool_)).astype(np.int32)
    if len(values) != count:
        raise ValueError("a run is damaged")
    values -= np.arange(count, dtype=np.int32)
    values <<= width
    if width:
        # Overlapping windows of four bytes, as numbers.
        part = np.array(data[begin >> 3 : ((upper + 7) >> 3) + _WINDOW])
        windows = np.ndarray((len(part) - _WINDOW + 1,), "<u4", part, strides=(1,))
        at = (begin & 7) + np.arange(count, dtype=np.int64) * width
        lower = windows[at >> 3] >> (at & 7).astype(np.uint32) & np.uint32((1 << width) - 1)
        values |= lower.view(np.int32)
    return values


def _run_bits(counts: NDArray[Any], rows: int, width: Any) -> NDArray[np.int64]:
    filled = np.asarray(counts, np.int64) > 0
    size = np.asarray(counts, np.int64) * (width + 1) + (max(rows - 1, 0) >> width)
    return np.where(filled, size, 0)


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
    """The start of each run, and the end of the last, shape (len(counts) + 1,)."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def save_table(path: Path, array: NDArray[Any]) -> None:
    """Write an array compressed, with its bytes grouped by significance, which compresses
    better."""
    array = np.ascontiguousarray(array)
    raw = array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()
    head = msgspec.json.encode(_Header(array.dtype.str, array.shape))
    path.write_bytes(_compress(head + b"\n" + raw))


def load_table(path: Path) -> NDArray[Any]:
    """Read an array written by `save_table`. Raises `OSError` or `ValueError`."""
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
    """Write texts compressed; none may contain a NUL."""
    found = [text.encode("utf-8", "surrogatepass") for text in texts]
    if any(b"\0" in text for text in found):
        raise ValueError("a text holds a NUL")
    path.write_bytes(_compress(b"".join(text + b"\0" for text in found)))


class Texts(Sequence[str]):
    """The texts written by `save_texts`, by number."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` or `ValueError`."""
        self._blob = _decompress(path)
        ends = np.flatnonzero(np.frombuffer(self._blob, np.uint8) == 0)
        # A look-up in an array takes several times as long.
        self._ends = ends.data

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        """The text with this number."""
        ends = self._ends
        if not 0 <= number < len(ends):
            raise IndexError(number)
        begin = ends[number - 1] + 1 if number else 0
        return self._blob[begin : ends[number]].decode("utf-8", "surrogatepass")

    def of(self, numbers: NDArray[np.int64]) -> list[str]:
        """The texts with ascending numbers; adjacent ones are read together."""
        if not len(numbers):
            return []
        bounds = np.flatnonzero(np.diff(numbers) != 1)
        first = numbers[np.concatenate([[0], bounds + 1])].tolist()
        last = numbers[np.concatenate([bounds, [len(numbers) - 1]])].tolist()
        found: list[str] = []
        for low, high in zip(first, last, strict=True):
            begin = self._ends[low - 1] + 1 if low else 0
            run = self._blob[begin : self._ends[high]]
            found += run.decode("utf-8", "surrogatepass").split("\0")
        return found


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
