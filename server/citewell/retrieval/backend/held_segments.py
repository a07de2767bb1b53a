"""The segments of a library that a back end holds: from points to rows of the library."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.contract import SegmentView
from citewell.corpus.layout import SegmentUse
from citewell.corpus.library import Library
from citewell.retrieval.backend.address import open_backend
from citewell.retrieval.backend.contract import FORMAT, Backend, backend_error, places_of


class HeldSegments(msgspec.Struct, frozen=True):
    """A back end that holds every segment of a library; those of libraries below are embedded."""

    backend: Backend
    numbers: NDArray[np.int64]
    """Numbers of the segments, rising."""
    bases: NDArray[np.int64]
    """First row of each."""
    lower: tuple[SegmentView, ...]
    """The segments of the libraries below."""

    def rows(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the library of these points, in order."""
        segment, row = places_of(points)
        return self.bases[np.searchsorted(self.numbers, segment)] + row


def held_segments(address: str, library: Library, words: str, encoder: str) -> HeldSegments:
    """The back end at an address. `words` and `encoder` are the fingerprints that it must have.

    Raises `CitewellError` where it does not hold the library as it is now.
    """
    backend = open_backend(address)
    state = backend.state()
    segments = library.manifest.segments
    if state is not None and state.format != FORMAT:
        message = f"The back end {address} has format {state.format}, not {FORMAT}."
        raise backend_error("backend-version", message)
    if state is not None and (state.words, state.encoder) != (words, encoder):
        message = f"The back end {address} was written with other weights or vectors."
        raise backend_error("backend-version", message)
    wanted = {use.id: (use.count, left_out(use)) for use in segments}
    found = {} if state is None else {
        one: (rows, state.left_out.get(one, "")) for one, rows in state.segments.items()
    }  # fmt: skip
    if found != wanted:
        message = f"The back end {address} does not hold the library as it is now."
        raise backend_error("backend-stale", message)
    own = library.own_segments
    numbers = np.array([int(view.path.name.partition("-")[0]) for view in own], np.int64)
    order = np.argsort(numbers)
    bases = np.array([view.base for view in own], np.int64)
    lower = library.segments[len(own) :]
    return HeldSegments(backend, numbers[order], bases[order], lower)


def left_out(use: SegmentUse) -> str:
    """Identifies the rows of a segment that no search finds."""
    return f"{use.dead_hash}/{use.quarantine_hash}"
