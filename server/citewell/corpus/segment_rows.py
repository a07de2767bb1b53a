"""Values of library-wide rows, each read from the segment that holds it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

from citewell.corpus.catalogue import Catalogue
from citewell.corpus.compact.catalogue import CompactCatalogue
from citewell.corpus.segment import Segment

Value = TypeVar("Value")
RowReader = Callable[[Catalogue | CompactCatalogue, list[int]], dict[int, Value]]
"""Gives the values of rows of one segment, by row."""


def segment_of(row: int, bases: Sequence[int]) -> int:
    """Number of the segment that holds a row; `bases` are the first rows of the segments, and the
    number of all rows. Raises `IndexError` for a row not there."""
    if not 0 <= row < bases[-1]:
        raise IndexError(f"row {row} of {bases[-1]}")
    return bisect_right(bases, row) - 1


def read_rows(
    segments: Sequence[Segment],
    bases: Sequence[int],
    rows: Sequence[int],
    read: RowReader[Value],
) -> dict[int, Value]:
    """What `read` gives for the rows, by library-wide row. Raises `IndexError` for a row that is
    not there."""
    by_segment: dict[int, list[int]] = {}
    for row in rows:
        by_segment.setdefault(segment_of(row, bases), []).append(row)
    found: dict[int, Value] = {}
    for number, members in by_segment.items():
        base = segments[number].base
        values = read(segments[number].catalogue, [row - base for row in members])
        found.update((row + base, value) for row, value in values.items())
    return found
