"""Arrays as sets, and ranges of numbers, for what a first search needs.

`np.unique` and `np.isin` do more than the sets, and import the masked arrays of numpy for it, which
takes 6 ms.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T", bound=np.generic)


def distinct(values: NDArray[_T]) -> NDArray[_T]:
    """The distinct values of an array without NaN, rising."""
    rising = np.sort(np.asarray(values), axis=None)
    is_first = np.empty(len(rising), np.bool_)
    is_first[:1] = True
    np.not_equal(rising[1:], rising[:-1], out=is_first[1:])
    return rising[is_first]


def is_among(values: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of the values are among the others, in the shape of the values; none is NaN."""
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
    """The numbers of the ranges [begin, end) one after the other, and the range of each."""
    count = end - begin
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    return np.arange(len(owner)) + (begin - first)[owner], owner
