"""How the papers of a source cite, as a library holds it: priors of its own, mapped from disk.

The arrays are those of `Priors`, one file each, in a folder that is sealed like a segment and goes
with its source. Papers are identified by their title keys, so that the data serves every record of
a paper, whichever source it came from.
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
"""The words around its citations, where it has passages (`retrieval.passages`)."""
_HEADER = 128
"""Bytes of an .npy file without any element."""
ARRAYS = tuple(name for name in Priors.__struct_fields__ if name != "encoder")


class CitingPart:
    """One source's part of an open library."""

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
        """The passages of its papers, where `use.texts` is not 0. Raises `LibraryError`."""
        return FullText(self.path / FOLDER)

    def verify(self) -> list[Problem]:
        """Hash every file."""
        return verify_files(self.path, self.record)


def _array(path: Path) -> NDArray[Any]:
    """Mapped, unless it is empty, which cannot be."""
    array = np.load(path, mmap_mode="r" if path.stat().st_size > _HEADER else None,
                    allow_pickle=False)  # fmt: skip
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path.name} is no array")
    return array


def write_part(priors: Priors, folder: Path) -> None:
    """Write the arrays, one .npy each."""
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(priors, name), allow_pickle=False)
