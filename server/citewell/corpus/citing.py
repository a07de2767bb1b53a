"""The citation data of a source in a library: its own priors, mapped from disk.

The arrays are those of `Priors`, one file each, in a folder that is sealed like a segment and
removed with its source. Papers are identified by their title keys, so that the data serves every
record of a paper, from any source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.errors import library_error
from citewell.corpus.full_text import FOLDER, FullText
from citewell.corpus.layout import CitingUse, SegmentRecord, read_segment_record
from citewell.corpus.priors import Priors, check
from citewell.corpus.segment import check_sizes, verify_files
from citewell.model import Problem

NAME = "citing"
WORDS = "words.npz"
"""The words around citations, if it has passages (`retrieval.passages`)."""
_HEADER = 128
"""Bytes of an .npy file without any element."""
ARRAYS = tuple(name for name in Priors.__struct_fields__ if name != "encoder")


class CitingPart:
    """The citation data of one source of an open library."""

    def __init__(self, library: Path, use: CitingUse) -> None:
        """Check its record and the sizes of its files; raises `LibraryError` on any mismatch."""
        self.use = use
        self.path = library / "segments" / use.id
        self.record: SegmentRecord = read_segment_record(self.path, use.record)
        if self.record.id != use.id or NAME not in self.record.indexes:
            raise library_error(
                "library-corrupt", "The folder does not match the manifest.", self.path
            )
        check_sizes(self.path, self.record)

    def priors(self) -> Priors:
        """The arrays, mapped. Raises `LibraryError` when they do not belong together."""
        try:
            arrays = {name: _array(self.path / f"{name}.npy") for name in ARRAYS}
            priors = Priors(**arrays, encoder=self.use.encoder)
            check(priors)
        except (OSError, ValueError, IndexError) as error:
            message = f"Its citation data cannot be read: {error}."
            raise library_error("library-corrupt", message, self.path) from None
        return priors

    def full_text(self) -> FullText:
        """The passages of its papers, if `use.texts` is not 0. Raises `LibraryError`."""
        return FullText(self.path / FOLDER)

    def verify(self) -> list[Problem]:
        """Hash every file; return the problems found."""
        return verify_files(self.path, self.record)


def _array(path: Path) -> NDArray[Any]:
    """The mapped array; an empty one cannot be mapped and is read."""
    array = np.load(path, mmap_mode="r" if path.stat().st_size > _HEADER else None,
                    allow_pickle=False)  # fmt: skip
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path.name} is no array")
    return array


def write_part(priors: Priors, folder: Path) -> None:
    """Write each array as one .npy file."""
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(priors, name), allow_pickle=False)
