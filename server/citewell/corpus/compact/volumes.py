"""The places of a compact segment's papers in their proceedings, as differences of neighbours.

Papers of one volume follow one another, so that a number is often one more than the previous one,
and a first page follows the previous last page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table, save_table

_BITS, _VOLUME, _KEYS = "minor.zst", "volume.zst", "volume_keys.zst"
_NUMBER, _FIRST, _PAGES = "number.zst", "first_page.zst", "pages.zst"


def save_places(folder: Path, columns: Sequence[NDArray[Any]]) -> None:
    """Write the columns of `corpus.volumes.Places`, in their order."""
    minor, volume, number, first_page, last_page = columns
    folder.mkdir(parents=True, exist_ok=True)
    keys, place = np.unique(volume, return_inverse=True)
    before = np.concatenate([np.zeros(1, np.int32), last_page[:-1]])
    save_table(folder / _BITS, np.packbits(minor))
    save_table(folder / _KEYS, keys)
    save_table(folder / _VOLUME, place.reshape(-1).astype(np.int32))
    save_table(folder / _NUMBER, np.diff(number, prepend=0).astype(np.int32))
    save_table(folder / _FIRST, (first_page - before).astype(np.int32))
    save_table(folder / _PAGES, (last_page - first_page).astype(np.int32))


def load_places(folder: Path, count: int) -> tuple[NDArray[Any], ...] | None:
    """What `save_places` wrote, in its order; None where it wrote nothing.

    Raises `OSError` or `ValueError`.
    """
    if not (folder / _BITS).is_file():
        return None
    minor = np.unpackbits(load_table(folder / _BITS), count=count).astype(np.bool_)
    keys, place = load_table(folder / _KEYS), load_table(folder / _VOLUME)
    number = np.cumsum(load_table(folder / _NUMBER), dtype=np.int32)
    pages = load_table(folder / _PAGES)
    # first[i] is its difference and first[i - 1] + pages[i - 1].
    steps = load_table(folder / _FIRST).astype(np.int64)
    steps[1:] += pages[:-1]
    first = np.cumsum(steps).astype(np.int32)
    if {len(place), len(number), len(pages), len(first)} != {count}:
        raise ValueError("the files do not belong together")
    return minor, keys[place], number, first, first + pages
