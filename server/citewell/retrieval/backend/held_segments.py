"""The segments of a library that a back end holds: from points to rows of the library."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.contract import SegmentView
from citewell.corpus.layout import SegmentUse
from citewell.corpus.library import Library
from citewell.model import Problem
from citewell.retrieval.backend.contract import (
    FORMAT,
    Found,
    State,
    backend_error,
    places_of,
)
from citewell.retrieval.contract import Ranking


class HeldSegments(msgspec.Struct, frozen=True):
    """What a back end must hold for a library, and where its points are in there."""

    wanted: dict[str, tuple[int, str]]
    """Rows of each segment, and those left out."""
    words: str
    encoder: str
    cited: str
    """The fingerprints that the back end must have."""
    numbers: NDArray[np.int64]
    """Numbers of the segments, rising."""
    bases: NDArray[np.int64]
    """First row of each."""
    counts: NDArray[np.int64]
    lower: tuple[SegmentView, ...]
    """The segments of the libraries below, which are embedded."""

    def ranking(self, found: Found) -> Ranking:
        """The rows of the library that were found, in order.

        Points of segments that this library lacks are left out: while the back end is brought to
        a newer library, it holds those of both.
        """
        rows, known = self._rows(found.points)
        return Ranking(rows[known], found.scores[known])

    def _rows(self, points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        segment, row = places_of(points)
        place = np.minimum(np.searchsorted(self.numbers, segment), len(self.numbers) - 1)
        known = (self.numbers[place] == segment) & (row < self.counts[place])
        return self.bases[place] + row, known

    def lack(self, address: str, state: State | None) -> Problem | None:
        """Why a back end in this state cannot answer for the library; None if it can."""
        if state is not None and state.format != FORMAT:
            message = f"The back end {address} has format {state.format}, not {FORMAT}."
            return backend_error("backend-version", message).problem
        if state is not None and (state.words, state.encoder, state.cited) != (
            self.words, self.encoder, self.cited,
        ):  # fmt: skip
            message = f"The back end {address} was written with other weights or vectors."
            return backend_error("backend-version", message).problem
        found = {} if state is None else {
            one: (rows, state.left_out.get(one, "")) for one, rows in state.segments.items()
        }  # fmt: skip
        if any(found.get(one) != facts for one, facts in self.wanted.items()) or not found:
            message = f"The back end {address} does not hold the library as it is now."
            return backend_error("backend-stale", message).problem
        return None


def held_segments(library: Library, words: str, encoder: str, cited: str) -> HeldSegments:
    """Of a library. The others are the fingerprints that a back end must have."""
    wanted = {use.id: (use.count, left_out(use)) for use in library.manifest.segments}
    own = sorted(library.own_segments, key=_number)
    return HeldSegments(
        wanted, words, encoder, cited,
        np.array([_number(view) for view in own], np.int64),
        np.array([view.base for view in own], np.int64),
        np.array([view.count for view in own], np.int64),
        library.segments[len(own) :],
    )  # fmt: skip


def left_out(use: SegmentUse) -> str:
    """Identifies the rows of a segment that no search finds."""
    return f"{use.dead_hash}/{use.quarantine_hash}"


def _number(view: SegmentView) -> int:
    return int(view.path.name.partition("-")[0])
