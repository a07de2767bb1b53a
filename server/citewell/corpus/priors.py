"""What others cite, as numbers: how often a paper is cited, with what, and in which words.

Priors are facts about papers, keyed by a hash of the title, so they serve any library that holds
the papers. Citewell ships those it was trained with; a paper without priors is ranked on its text
alone. No text of a citing paper is held: a passage is a vector.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError, Problem


class Priors(msgspec.Struct, frozen=True):
    """P papers, L citing papers with what they cite, C citing passages with the paper cited."""

    key: NDArray[np.uint64]
    """Title keys (`columns.title_key`), rising, shape (P,)."""
    citations: NDArray[np.float16]
    """log(1 + times cited) where a source says so, else -1, shape (P,)."""
    list_key: NDArray[np.uint64]
    """Title key of each citing paper, or another number that tells it apart, shape (L,)."""
    list_starts: NDArray[np.int32]
    list_cited: NDArray[np.int32]
    """Paper numbers that citing paper i cites: [list_starts[i], list_starts[i + 1])."""
    list_vectors: NDArray[np.int8]
    """The citing title (and abstract) in the static encoder's space, shape (L, d); may be zero."""
    passage_vectors: NDArray[np.int8]
    """Shape (C, d)."""
    passage_cited: NDArray[np.int32]
    passage_list: NDArray[np.int32]
    """The citing paper of each passage, shape (C,)."""
    encoder: str = ""
    """Fingerprint of the encoder of the vectors: another encoder cannot use them."""

    def __len__(self) -> int:
        return len(self.key)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Paper number of each title key, -1 where there are no priors."""
        if not len(self.key):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return np.where((self.key[at] == keys) & (keys != 0), at, -1)


def read_priors(path: Path) -> Priors:
    """The priors of a file. Raises CitewellError when it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {n: file[n] for n in Priors.__struct_fields__ if n != "encoder"}
            priors = Priors(**arrays, encoder=str(file["encoder"]))
        count = len(priors)
        if (
            len(priors.citations) != count
            or len(priors.list_starts) != len(priors.list_key) + 1
            or len(priors.list_vectors) != len(priors.list_key)
            or len(priors.passage_vectors) != len(priors.passage_cited)
            or priors.list_cited.max(initial=-1) >= count
            or priors.passage_cited.max(initial=-1) >= count
        ):
            raise ValueError("its arrays do not belong together")
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise CitewellError(
            Problem(
                "priors-unreadable",
                f"The citation priors cannot be read ({error}).",
                "Reinstall citewell.",
                path=str(path),
            )
        ) from error
    return priors


def write_priors(priors: Priors, path: Path) -> None:
    """Write the priors as one .npz file."""
    arrays = {n: getattr(priors, n) for n in Priors.__struct_fields__ if n != "encoder"}
    np.savez_compressed(path, **arrays, encoder=np.array(priors.encoder))
