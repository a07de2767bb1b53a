"""Citation priors as numbers: how often a paper is cited, with which papers, and in which words.

Priors are keyed by a hash of the title, so that they serve any library with the papers. Citewell
ships those it was trained with; a paper without priors is ranked on its text alone. No text of a
citing paper is stored: a passage is a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct, is_among
from citewell.model import CitewellError, Problem


class Priors(msgspec.Struct, frozen=True):
    """P papers, L citing papers with their references, C citing passages with the cited paper."""

    key: NDArray[np.uint64]
    """Title keys (`columns.title_key`), ascending, shape (P,)."""
    citations: NDArray[np.float16]
    """log(1 + times cited) if a source states it, else -1, shape (P,)."""
    list_key: NDArray[np.uint64]
    """Title key of each citing paper, or another identifying number, shape (L,)."""
    list_starts: NDArray[np.int32]
    list_cited: NDArray[np.int32]
    """Paper numbers that citing paper i cites: [list_starts[i], list_starts[i + 1])."""
    list_vectors: NDArray[np.int8]
    """The citing title (and abstract) in the shipped encoder's space, shape (L, d); may be zero."""
    passage_vectors: NDArray[np.int8]
    """Shape (C, d)."""
    passage_cited: NDArray[np.int32]
    passage_list: NDArray[np.int32]
    """The citing paper of each passage, shape (C,)."""
    encoder: str = ""
    """Fingerprint of the encoder of the vectors; another encoder cannot use them."""

    def __len__(self) -> int:
        return len(self.key)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Paper number of each title key, -1 without priors."""
        if not len(self.key):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return np.where((self.key[at] == keys) & (keys != 0), at, -1)


def check(priors: Priors) -> None:
    """Raise `ValueError` unless the arrays are consistent and their indices in range."""
    count, lists = len(priors), len(priors.list_key)
    starts = priors.list_starts
    numbers = ((priors.list_cited, count), (priors.passage_cited, count))
    if (
        len(priors.citations) != count
        or len(starts) != lists + 1
        or starts[0] != 0
        or starts[-1] != len(priors.list_cited)
        or (np.diff(starts) < 0).any()
        or len(priors.list_vectors) != lists
        or len(priors.passage_vectors) != len(priors.passage_cited)
        or len(priors.passage_list) != len(priors.passage_cited)
        or any(
            array.max(initial=-1) >= end or array.min(initial=0) < 0
            for array, end in (*numbers, (priors.passage_list, lists))
        )
    ):
        raise ValueError("its arrays are inconsistent")


def coded(vectors: NDArray[np.float32], levels: int = 127) -> NDArray[np.int8]:
    """Unit vectors as int8, each row scaled so that its greatest value is `levels`. Few levels make
    a compressed file small."""
    greatest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    scaled = np.divide(levels * vectors, greatest, out=np.zeros_like(vectors), where=greatest > 0)
    return np.asarray(np.rint(scaled), np.int8)


def joined(parts: Sequence[Priors]) -> Priors:
    """The parts joined into one; they must have one encoder.

    A paper counts as cited as often as any part says. A citing paper in several parts cites what
    any of them lists. Its passages about a paper are those of the last part that has any.
    """
    if len(parts) == 1:
        return parts[0]
    key = distinct(np.concatenate([part.key for part in parts]))
    numbers = [np.searchsorted(key, part.key) for part in parts]
    citations = np.full(len(key), -1.0, np.float16)
    for part, number in zip(parts, numbers, strict=True):
        citations[number] = np.maximum(citations[number], part.citations)
    list_key, list_of = np.unique(
        np.concatenate([part.list_key for part in parts]), return_inverse=True
    )
    lists = np.split(list_of, np.cumsum([len(part.list_key) for part in parts])[:-1])
    list_vectors = np.zeros((len(list_key), parts[0].list_vectors.shape[1]), np.int8)
    for part, own in zip(parts, lists, strict=True):
        filled = part.list_vectors.any(axis=1)
        list_vectors[own[filled]] = part.list_vectors[filled]
    # A citing and a cited paper as one number: citing * width + cited.
    width = max(len(key), 1)
    cited = distinct(
        np.concatenate(
            [
                np.repeat(own, np.diff(part.list_starts)) * width + number[part.list_cited]
                for part, own, number in zip(parts, lists, numbers, strict=True)
            ]
        )
    )
    lengths = np.bincount(cited // width, minlength=len(list_key))
    passages = [
        own[part.passage_list] * width + number[part.passage_cited]
        for part, own, number in zip(parts, lists, numbers, strict=True)
    ]
    stays = [
        ~is_among(own, np.concatenate(passages[n + 1 :] or [np.zeros(0, np.int64)]))
        for n, own in enumerate(passages)
    ]
    passage = np.concatenate([own[kept] for own, kept in zip(passages, stays, strict=True)])
    return Priors(
        key,
        citations,
        list_key,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        (cited % width).astype(np.int32),
        list_vectors,
        np.concatenate(
            [part.passage_vectors[kept] for part, kept in zip(parts, stays, strict=True)]
        ),
        (passage % width).astype(np.int32),
        (passage // width).astype(np.int32),
        parts[0].encoder,
    )


def read_priors(path: Path) -> Priors:
    """Read the priors in a file. Raises CitewellError when it cannot be read."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {n: file[n] for n in Priors.__struct_fields__ if n != "encoder"}
            priors = Priors(**arrays, encoder=str(file["encoder"]))
        check(priors)
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
