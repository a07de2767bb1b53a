"""Array files that are mapped into memory and yet fail cleanly on a full disk.

Setting the length of a mapped file reserves no space: on a full disk, the first write to a page
would end the process with a signal that Python cannot catch. Therefore the space is allocated
first, which raises `OSError` on a full disk.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

_BLOCK = bytes(1 << 20)
_NOT_SUPPORTED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


def new_array(path: Path, kind: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Create a .npy file of zeros, mapped for writing and with its space allocated. Raises
    `OSError`."""
    dtype = np.dtype(kind)
    with path.open("wb") as file:
        _write_header(file, dtype, shape)
        begin = file.tell()
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        _take_space(file, begin, size)
    if size == 0:  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r+", offset=begin, shape=shape)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """`np.save` with a proper `OSError` for a full disk: numpy's own has no error number."""
    with path.open("wb") as file:
        _write_header(file, array.dtype, array.shape)
        file.write(np.ascontiguousarray(array).tobytes())


def open_array(path: Path, *, write: bool = False) -> NDArray[Any]:
    """A .npy file, mapped. Raises `OSError` or `ValueError`."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r+" if write else "r", allow_pickle=False)
    except ValueError:
        array = np.load(path, allow_pickle=False)
        if array.size:
            raise
    # A plain view: slicing a memmap object costs ten times as much.
    return array if write else array.view(np.ndarray)


def flush(array: NDArray[Any]) -> None:
    """Write a mapped array's changes to its file."""
    if isinstance(array, np.memmap):
        array.flush()


def _write_header(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    described = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": described, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _take_space(file: BinaryIO, begin: int, size: int) -> None:
    if size and hasattr(os, "posix_fallocate"):
        file.flush()
        try:
            os.posix_fallocate(file.fileno(), begin, size)
            return
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
    for done in range(0, size, len(_BLOCK)):
        file.write(_BLOCK[: min(len(_BLOCK), size - done)])
    file.flush()
    os.fsync(file.fileno())
