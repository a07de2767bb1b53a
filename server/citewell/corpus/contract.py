"""The contract between a library and its indexes.

A library is a stack of immutable segments. A segment is a folder with a catalogue of works (rows
0..count-1) and one sub-folder per index. An index is built from the works in row order and knows
only rows; everything else comes from the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Work


class SegmentView(msgspec.Struct, frozen=True):
    """One segment from a retriever's point of view."""

    path: Path
    base: int
    """Library-wide number of the segment's row 0."""
    count: int
    dead: NDArray[np.bool_] | None = None
    """Mask of shape (count,): rows superseded by a later segment or removed. None: all are live."""

    def index(self, name: str) -> Path:
        """Folder of the index `name` in this segment."""
        return self.path / name


class IndexBuilder(Protocol):
    """Builds one kind of index for one segment. One per retriever.

    `build` may be killed at any time and called again with the same arguments: it then resumes or
    starts over. The caller marks the index as finished in the segment's record after `build` has
    returned, so that an unfinished folder never looks finished.
    """

    name: str
    """Folder name, also the retriever's name: "bm25", "dense"."""

    def fingerprint(self) -> Mapping[str, Any]:
        """JSON-ready facts that identify the index: format version, model, settings."""
        ...

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write the index of `count` works into the existing folder `into`, which may not be empty.

        `works()` starts a fresh pass over the works in row order; `progress(n)` reports n more.
        """
        ...
