"""Finds 32-bit hashes in sorted arrays faster than by binary search: hashes are evenly spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LOW = 0xFFFF
"""The lower bits, by which nearly all values without a match are left out."""
_FEWEST_BITS = 8


def matches(
    values: NDArray[np.uint32], keys: NDArray[np.uint32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where in `values` a key stands, rising, and the place of that key among the sorted `keys`.

    For many values and few keys: nearly all values are left out by a table of their lower bits.
    """
    none = np.zeros(0, np.intp)
    if not len(keys) or not len(values):
        return none, none
    may_be = np.zeros(_LOW + 1, np.bool_)
    may_be[keys & _LOW] = True
    at = np.flatnonzero(may_be.take(values & _LOW))
    place = np.minimum(np.searchsorted(keys, values[at]), len(keys) - 1)
    hit = keys[place] == values[at]
    return at[hit], place[hit]


class HashIndex:
    """Distinct hashes, rising, with the place at which each run of their upper bits begins."""

    def __init__(self, hashes: NDArray[np.uint32]) -> None:
        self._hashes = hashes
        bits = max(_FEWEST_BITS, len(hashes).bit_length() - 1)
        self._shift = np.uint32(32 - bits)
        counts = np.bincount(hashes >> self._shift, minlength=1 << bits)
        self._starts = np.zeros((1 << bits) + 1, np.int32)
        np.cumsum(counts, out=self._starts[1:])

    def find(self, values: NDArray[np.uint32]) -> NDArray[np.intp]:
        """The place of each value, -1 where it is not among the hashes; shape (n,)."""
        out = np.full(len(values), -1, np.intp)
        if not len(self._hashes):
            return out
        run = (values >> self._shift).astype(np.intp)
        place = self._starts.take(run).astype(np.intp)
        end = self._starts.take(run + 1)
        left = np.flatnonzero(place < end)
        while len(left):
            at = place[left]
            found = self._hashes.take(at)
            hit = found == values[left]
            out[left[hit]] = at[hit]
            place[left] += 1
            left = left[(found < values[left]) & (place[left] < end[left])]
        return out
